// Every frequent query, and every query of a page or a chore, must use an index on both databases. The tests
// are a table of queries with their indexes, over tables that are large enough for the planner to have a
// choice.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { CompiledQuery, sql } from "kysely";
import { readCallbackHealth } from "#core/callbacks/health.ts";
import { EVENT_TYPES, STATUSES } from "#core/domain/conversion.ts";
import { readOrderSearch } from "#core/domain/order-id.ts";
import { SLOTS } from "#core/domain/slot.ts";
import { DAY_MS } from "#core/domain/time.ts";
import type { BatchRows } from "#core/store/batch.ts";
import { keysOf } from "#core/store/module-parts.ts";
import { shapesWith } from "#core/store/postgres/batch-write.ts";
import { hasReached, startOfFeed } from "#core/store/queries/announced-moves.ts";
import { listAudit, readAuditSubjects } from "#core/store/queries/audit-list.ts";
import { bringForward, bringRemovedForward, walkWaiting } from "#core/store/queries/bring-forward.ts";
import { findKeyHolders, findProgrammesToCall } from "#core/store/queries/callers.ts";
import {
	type ConversionListRequest,
	type ConversionSort,
	collectMatches,
	listConversions,
} from "#core/store/queries/conversion-list.ts";
import { tallySlice } from "#core/store/queries/conversion-tally.ts";
import {
	findByOrders,
	findManyByPublicId,
	findNewestTest,
	findOldestEndedWindow,
	listMoves,
	takeWindowEnded,
} from "#core/store/queries/conversions.ts";
import {
	failedWithin,
	findDeliveries,
	listFailedReceivers,
	nameDeliveries,
	requeue,
} from "#core/store/queries/deliveries.ts";
import {
	countFailed,
	countUndelivered,
	countWaiting,
	listFailing,
	sumCallbacks,
} from "#core/store/queries/delivery-health.ts";
import {
	type DeliveryFilter,
	findDeliveryDetail,
	listAttempts,
	listDeliveries,
	listDeliveriesOfConversion,
	listPartnersDeliveries,
	newestProgress,
} from "#core/store/queries/delivery-list.ts";
import { countUnmailedNotices } from "#core/store/queries/figures.ts";
import { readIntegrationChecks } from "#core/store/queries/first-times.ts";
import { type InboundFilter, listInboundCalls } from "#core/store/queries/inbound-calls.ts";
import { listApiKeys } from "#core/store/queries/keys.ts";
import { findAnnounced, listAnswersOf, listNewestAnswers } from "#core/store/queries/local-answers.ts";
import {
	endTroubles,
	findNoticesToMail,
	findOpenNotice,
	findReceiverToMail,
	forgetWatched,
	listNotices,
	tellWatched,
} from "#core/store/queries/notices.ts";
import { countEndedWindows } from "#core/store/queries/owed.ts";
import { hasPassword } from "#core/store/queries/passwords.ts";
import { listProgrammePeople, listStaff } from "#core/store/queries/people.ts";
import { hasConversions, listProgrammes } from "#core/store/queries/programme-list.ts";
import { findProgrammeOf, listProgrammesOf } from "#core/store/queries/programme-people.ts";
import { pruneExpired, pruneLog } from "#core/store/queries/prune.ts";
import type { DueDelivery, ReadRequest, Settlement } from "#core/store/queries/queue.ts";
import { findPartnerReceiver, presentEndpoint } from "#core/store/queries/receivers.ts";
import { findOpenSignInLink } from "#core/store/queries/sign-in-links.ts";
import { insertSecret } from "#core/store/queries/signing-secrets.ts";
import { findProgrammeToRemind } from "#core/store/queries/waiting.ts";
import { createSqliteBatch } from "#core/store/sqlite/batch.ts";
import { createSqliteQueue } from "#core/store/sqlite/queue.ts";
import type { Db, Store } from "#core/store/store.ts";
import { findBalances, listEntries, sumOpenEntries } from "#modules/accounts/store/entries.ts";
import {
	countToPay,
	findNewestStatements,
	findStatement,
	findStatementsByNumber,
	findUnpayable,
	listAdjustments,
	listStatementLines,
	listStatementMonths,
	listStatements,
	readStatementEntries,
	sumStatements,
} from "#modules/accounts/store/statements.ts";
import { ENTRIES } from "#modules/accounts/store/tables.ts";
import { readFeed } from "#modules/feeds/use-cases/event-feed.ts";
import { claimJob, hasUnclaimedJob, listJobs } from "#modules/jobs/store/jobs.ts";
import { sumClicks, sumPartnershipClicks } from "#modules/partners/store/clicks.ts";
import { PARTNERSHIP, PARTNERSHIP_OF_CODE } from "#modules/partners/store/creditable-partnerships.ts";
import { listCredited } from "#modules/partners/store/credited.ts";
import { CREDIT_OF_CONVERSION, sumByPartnership } from "#modules/partners/store/credits.ts";
import { pruneClicks } from "#modules/partners/store/partner-prune.ts";
import type { NamedPartnership } from "#modules/partners/store/partnerships.ts";
import { findReaderToMail, listMovesForNews } from "#modules/partners/store/sale-news.ts";
import { CREDITS } from "#modules/partners/store/tables.ts";
import { CODE_OF_LINK, EVENTS_OF_CONVERSION } from "#modules/partners/use-cases/credit-changes.ts";
import { findRefunds, listRefunds, REFUNDS_OF_CONVERSION } from "#modules/refunds/store/refunds.ts";
import { REFUNDS } from "#modules/refunds/store/tables.ts";
import { CHANGES } from "../../src/modules.ts";
import { removeUrl, setUrl } from "../support/change-rows.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase, type SuiteDatabase } from "../support/databases.ts";
import {
	fillTables,
	LARGE,
	LARGE_RECEIVER,
	LARGE_TABLES,
	PROGRAMMES,
	ROWS,
	receiverOf,
	SMALL,
	SMALL_RECEIVER,
} from "../support/large-tables.ts";
import { plansOf, type QueryPlan, RememberingDatabase, recordQueries } from "../support/query-plan.ts";
import { delivered, newConversion, newSecret, retried } from "../support/rows.ts";

/** Queries that must not scan a large table, with the indexes that they must use together. */
type Read = readonly [
	what: string,
	indexes: readonly string[],
	run: (db: Db, store: Store) => Promise<unknown>,
];

/** First page of a list, whose query also counts the rows. */
const FIRST_25 = { limit: 25, isCounted: true };
const FIRST_50 = { limit: 50, isCounted: true };
const LATER = { at: START_MS, id: ROWS / 2 };
const REQUESTS: readonly ReadRequest[] = Array.from({ length: 40 }, (_, n) => ({
	receiverId: receiverOf(n + 1),
	afterDueAtMs: START_MS - ROWS,
	afterId: 0,
	limit: 8,
}));
/** Tables that may be scanned completely, because they are small. `receiver` is the recursive part of readFirstDue. */
const SMALL_WALKS = ["engines", "slots", "receiver", "json_each"];
const ALL_SLOTS = Array.from({ length: SLOTS }, (_, slot) => slot);
const never = () => false;
type Filter = Partial<ConversionListRequest>;
const sortBy = (by: ConversionSort["by"], direction: ConversionSort["direction"]) => ({ by, direction });

const DELIVERY_LISTS: readonly (readonly [what: string, index: string, filter: Partial<DeliveryFilter>])[] = [
	["the newest deliveries", "events_by_receiver", {}],
	["a later page of deliveries", "events_by_receiver", { after: LATER }],
	[
		"delivered callbacks of one event",
		"events_by_receiver",
		{ state: "delivered", event: "conversion.reversed" },
	],
	["failed deliveries", "undelivered_by_receiver", { state: "failed" }],
	["a later page of failed deliveries", "undelivered_by_receiver", { state: "failed", after: LATER }],
	["pending deliveries", "queue_by_due", { state: "pending" }],
	["a later page of pending deliveries", "queue_by_due", { state: "pending", after: LATER }],
	["deliveries by a part of the order id", "", { search: readOrderSearch("der 30") }],
];
const CALL_LISTS: readonly (readonly [what: string, index: string, filter: Partial<InboundFilter>])[] = [
	["the newest calls", "inbound_calls_by_programme", {}],
	["refused calls", "inbound_calls_by_programme", { result: "refused" }],
	["a later page of calls", "inbound_calls_by_programme", { after: LATER }],
	["an order's calls", "inbound_calls_by_order", { orderId: "order 2" }],
];

/** Id of a programme without conversions. */
const NO_CONVERSIONS = PROGRAMMES + 1;
/**
 * Maximum number of database pages that a list may read: three for each of 84 buckets, and one for each row
 * that is found.
 */
const MAX_LIST_PAGES = 1_000;
const MIDDLE_MS = START_MS + ROWS / 2;
const MIDDLE = { at: ROWS / 2, id: ROWS / 2 };
/** Statement of a large account. Entries of other partners are between its first and its last entry. */
const PROVEN = { id: 77, partner_id: 1, first_entry_id: ROWS / 2, last_entry_id: ROWS / 2 + 1_000 };
const CONVERSION_LISTS: readonly (readonly [what: string, index: string, filter: Filter])[] = [
	["the first page", "conversions_by_list", {}],
	["a later page", "conversions_by_list", { after: MIDDLE }],
	["a rare status", "conversions_by_list", { status: "REVERSED" }],
	["a common status", "conversions_by_list", { status: "APPROVED" }],
	["an event type that does not occur", "conversions_by_list", { eventType: "INSTALL" }],
	["tests", "conversions_by_list", { isTest: true }],
	["status, type and test", "conversions_by_list", { status: "RECORDED", eventType: "SALE", isTest: false }],
	["a range of time", "conversions_by_list", { fromMs: MIDDLE_MS, beforeMs: MIDDLE_MS + 500 }],
	["a status in a range", "conversions_by_list", { status: "REJECTED", beforeMs: MIDDLE_MS }],
	["a whole order id", "conversions_by_order", { orderId: "order 30" }],
	["a part of an order id", "", { search: readOrderSearch("der 30") }],
	["a part of an order id, a later page", "", { search: readOrderSearch("r 3"), after: MIDDLE }],
	["a conversion id", "", { search: readOrderSearch(`cnv_${"0".repeat(26)}`) }],
	["a common part with a status", "", { search: readOrderSearch("o"), status: "REVERSED" }],
	["the oldest first", "conversions_by_list", { sort: sortBy("recorded", "asc") }],
	["by sale", "conversions_by_sale", { sort: sortBy("sale", "desc") }],
	["by sale, a later page", "conversions_by_sale", { sort: sortBy("sale", "asc"), after: LATER }],
	[
		"sold in a range",
		"conversions_by_sale",
		{ sort: sortBy("sale", "desc"), soldFromMs: 0, soldBeforeMs: START_MS },
	],
	[
		"sold in a range, as recorded",
		"conversions_by_sale",
		{ soldFromMs: START_MS, soldBeforeMs: START_MS + 5 },
	],
	[
		"decided in a range",
		"conversions_by_decision",
		{ sort: sortBy("decision", "desc"), decidedFromMs: START_MS, decidedBeforeMs: START_MS + 5 },
	],
	[
		"decided, a later page",
		"conversions_by_decision",
		{ sort: sortBy("decision", "asc"), decidedFromMs: 0, after: LATER },
	],
	[
		"decided in a range, as recorded",
		"conversions_by_decision",
		{ decidedFromMs: START_MS, decidedBeforeMs: START_MS + 5 },
	],
	[
		"changed since a time",
		"conversions_by_change",
		{ sort: sortBy("change", "asc"), changedFromMs: START_MS },
	],
	[
		"changed since a time, a later page",
		"conversions_by_change",
		{ sort: sortBy("change", "asc"), changedFromMs: 0, after: LATER },
	],
	["by amount", "conversions_by_basket", { sort: sortBy("basket", "desc") }],
	[
		"by amount, a later page",
		"conversions_by_basket",
		{ sort: sortBy("basket", "asc"), after: { at: 5_000, id: 7 } },
	],
	["a rare status by amount", "conversions_by_list", { sort: sortBy("basket", "desc"), status: "REVERSED" }],
];
const REVIEW_LISTS: readonly (readonly [what: string, index: string, filter: Filter])[] = [
	["a rare status", "conversions_by_kind", { status: "REVERSED" }],
	["a common status", "conversions_by_kind", { status: "APPROVED", after: MIDDLE }],
	[
		"decided in a range",
		"conversions_decided",
		{
			...{ sort: sortBy("decision", "desc"), isTest: false },
			...{ decidedFromMs: START_MS, decidedBeforeMs: START_MS + 5 },
		},
	],
	[
		"decided, a later page with tests",
		"conversions_decided",
		{ sort: sortBy("decision", "asc"), decidedFromMs: 0, after: LATER },
	],
	["one programme", "conversions_by_list", { programmeId: LARGE, status: "RECORDED" }],
	["a part of an order id", "", { search: readOrderSearch("der 30") }],
	["a part of an order id with a status", "", { search: readOrderSearch("der 3"), status: "REVERSED" }],
	["a later page for a part of an order id", "", { search: readOrderSearch("der 3"), after: MIDDLE }],
	["a part of an order id in one programme", "", { programmeId: LARGE, search: readOrderSearch("der 30") }],
];

/**
 * Returns the check of a list for a small and for a large programme. The large one has half of all rows, so
 * PostgreSQL may choose another index for it.
 */
function ofBoth(
	what: string,
	index: string,
	list: (db: Db, programmeId: number) => Promise<unknown>,
): readonly Read[] {
	return [
		[`${what} of a small programme`, index === "" ? [] : [index], (db) => list(db, SMALL)],
		[`${what} of a large programme`, [], (db) => list(db, LARGE)],
	];
}

const READS: readonly Read[] = [
	...(["RECORDED", "PARKED"] as const).flatMap((from): Read[] => [
		[
			`${from} conversions whose window has ended`,
			["conversions_by_window"],
			(db, store) => takeWindowEnded(db, store, { status: from, fromMs: 0, byMs: START_MS, limit: 100 }),
		],
		[
			`whether a window of ${from} conversions has ended`,
			["conversions_by_window"],
			(db, store) => findOldestEndedWindow(within(store, db), from, START_MS),
		],
	]),
	...[LARGE, SMALL].map(
		(programmeId): Read => [
			`failed deliveries of programme ${programmeId} since a time`,
			[],
			(db) => failedWithin(db, receiverOf(programmeId), { fromMs: START_MS - 1_000, untilMs: START_MS }, 100),
		],
	),
	[
		"programmes whose deliveries failed within a span",
		[],
		(db) => listFailedReceivers(db, { fromMs: START_MS - 1_000, untilMs: START_MS }, undefined),
	],
	...[1, 500].map(
		(count): Read => [
			`failed deliveries that are sent again, ${count} at once`,
			["undelivered_in_sight"],
			async (db) => {
				await setUrl(db, LARGE, "https://shop.example/postback", START_MS);
				await insertSecret(db, newSecret(LARGE_RECEIVER));
				const span = { fromMs: START_MS - ROWS, untilMs: START_MS };
				const found = await failedWithin(db, LARGE_RECEIVER, span, count);
				// The test data has a queue row for every delivery, even for failed ones, so those rows are removed
				// here.
				const ids = found.map(({ id }) => id);
				await db.deleteFrom("queue").where("id", "in", ids).execute();
				const failed = found.map((delivery) => ({ ...delivery, state: "failed" as const }));
				equal((await requeue(db, LARGE_RECEIVER, failed, START_MS))?.length, failed.length);
			},
		],
	),
	...[LARGE, SMALL].map(
		(programmeId): Read => [
			`pending deliveries of programme ${programmeId}, whose URL was removed`,
			["queue_by_due"],
			async (db, store) => {
				await removeUrl(db, programmeId, START_MS);
				await bringRemovedForward(
					alongIndexes(store, db),
					createClock(),
					receiverOf(programmeId),
					() => true,
				);
			},
		],
	),
	...ofBoth("how many deliveries failed", "undelivered_in_sight", (db, id) =>
		countFailed(db, receiverOf(id)),
	),
	...ofBoth("failed deliveries that are not set aside", "undelivered_in_sight", (db, id) =>
		failedWithin(db, receiverOf(id), { untilMs: START_MS }, 500),
	),
	...ofBoth("how many deliveries wait", "queue_by_due", (db, id) =>
		countWaiting(db, receiverOf(id), START_MS - ROWS),
	),
	["deliveries that are ticked", [], (db) => findDeliveries(db, LARGE_RECEIVER, ["dlv2", "dlv3"])],
	...[LARGE, SMALL].map(
		(programmeId): Read => [
			`pending deliveries of programme ${programmeId} that are sent now`,
			["queue_by_due"],
			async (db, store) => {
				const clock = createClock(START_MS - ROWS);
				for await (const waiting of walkWaiting(alongIndexes(store, db), clock, receiverOf(programmeId)))
					await bringForward(db, receiverOf(programmeId), waiting, clock.nowMs());
			},
		],
	),
	[
		"count of conversions whose window has ended",
		["conversions_by_window"],
		(db) => countEndedWindows(db, START_MS),
	],
	[
		"watched notices that become visible",
		["notices_watched"],
		async (db) => {
			await forgetWatched(db, START_MS);
			await tellWatched(db, START_MS, START_MS);
		},
	],
	["a notice that ends", ["notices_open"], (db) => endTroubles(db, [LARGE_RECEIVER], "success", START_MS)],
	[
		"the next job",
		["jobs_to_do"],
		async (db) => {
			await hasUnclaimedJob(db, START_MS);
			await claimJob({ db, takeFreeRows: sql`` }, "claim", START_MS, START_MS);
		},
	],
	["a programme to be mailed", ["notices_to_mail"], (db) => findReceiverToMail(db, START_MS - 1)],
	["the notices of a mail", ["notices_by_receiver"], (db) => findNoticesToMail(db, SMALL_RECEIVER)],
	...DELIVERY_LISTS.flatMap(([what, index, filter]) =>
		ofBoth(what, index, (db, programmeId) =>
			listDeliveries(db, { receiverId: receiverOf(programmeId), programmeId, ...FIRST_25, ...filter }),
		),
	),
	...CALL_LISTS.flatMap(([what, index, filter]) =>
		ofBoth(what, index, (db, programmeId) => listInboundCalls(db, { programmeId, ...FIRST_50, ...filter })),
	),
	["the checks of the integration", [], (db) => readIntegrationChecks(db, SMALL)],
	[
		"the health summary of callbacks",
		["queue_by_due", "events_by_receiver", "notices_open", "local_answers_by_receiver"],
		(db) => readCallbackHealth(db, { receiver_id: SMALL_RECEIVER, endpoint_id: 1 }, START_MS),
	],
	["the last test", ["conversions_tests"], (db) => findNewestTest(db, LARGE)],
	["a programme's keys", [], (db) => listApiKeys(db, SMALL, 50)],
	[
		"the progress value that an open page polls",
		["events_by_receiver", "inbound_calls_by_programme"],
		(db) => newestProgress(db, SMALL_RECEIVER, SMALL),
	],
	["one delivery", [], (db) => findDeliveryDetail(db, LARGE_RECEIVER, "dlv2")],
	["a delivery's attempts", [], (db) => listAttempts(db, 2)],
	[
		"a conversion's deliveries",
		["events_once_per_conversion"],
		(db) => listDeliveriesOfConversion(db, LARGE_RECEIVER, 2),
	],
	[
		"a conversion's deliveries to partners",
		["events_once_per_conversion"],
		(db) => listPartnersDeliveries(db, 2),
	],
	["the names of deliveries for the log", [], (db) => nameDeliveries(db, [2])],
	...CONVERSION_LISTS.flatMap(([what, index, filter]): Read[] => [
		[
			`conversions of a large programme: ${what}`,
			index === "" ? [] : [index],
			(db) => listConversions(db, { programmeId: LARGE, limit: 50, ...filter }),
		],
		// The rows of a small programme may be read with any index and then sorted.
		[
			`conversions of a small programme: ${what}`,
			[],
			(db) => listConversions(db, { programmeId: SMALL, limit: 50, ...filter }),
		],
	]),
	...REVIEW_LISTS.map(
		([what, index, filter]): Read => [
			`all programmes: ${what}`,
			index === "" ? [] : [index],
			(db) => listConversions(db, { limit: 50, ...filter }),
		],
	),
	...[
		{ programmeId: LARGE, partnershipIds: [1] },
		{ programmeId: LARGE, partnershipIds: [1], sort: sortBy("sale", "asc"), after: LATER },
		{ partnershipIds: [1, 2, 3], soldFromMs: 0, soldBeforeMs: START_MS, isTest: false, after: LATER },
	].map(
		(filter, index): Read => [
			`sales of partners (${index + 1})`,
			["credits_by_sale"],
			(db) => listConversions(db, { limit: 50, ...filter }),
		],
	),
	[
		"earnings of partners in a few days",
		["credits_by_sale"],
		(db) =>
			sumByPartnership(db, START_MS, {
				fromMs: START_MS - DAY_MS,
				beforeMs: START_MS,
				partnershipIds: [2, 3, 4],
			}),
	],
	[
		"the sum over a filter",
		["conversions_by_list"],
		(db) => collectMatches(db, { programmeId: LARGE, status: "REJECTED" }),
	],
	...[[LARGE], [SMALL], [LARGE, SMALL]].map(
		(ids): Read => [
			`a partner's own conversions, of ${ids.length === 1 ? ids[0] : "both"}`,
			["credits_by_sale"],
			(db) =>
				listCredited(
					db,
					{ partnerships: ids.map((id) => ({ id }) as NamedPartnership), status: "REVERSED" },
					FIRST_50,
				),
		],
	),
	[
		"a partner's own conversions, with their number",
		["credits_by_sale"],
		(db) => listCredited(db, { partnerships: [{ id: LARGE } as NamedPartnership] }, FIRST_50),
	],
	["results of the clicks on links", [], (db) => sumClicks(db, [7, 8], START_MS)],
	[
		"clicks of partners",
		["partner_links_by_partnership"],
		(db) => sumPartnershipClicks(db, { partnershipIds: [7, 8], fromMs: START_MS, beforeMs: START_MS }),
	],
	[
		"clicks past the retention",
		[],
		(db, store) => {
			let batches = 0;
			return pruneClicks(within(store, db), createClock(), DAY_MS, () => batches++ > 0);
		},
	],
	...(
		[
			["from now on", { at: 400, id: ROWS - 10 }],
			["from long ago", { at: 1, id: 5 }],
		] as const
	).map(
		([since, position]): Read => [
			`the feed of events ${since}`,
			[],
			(db, store) =>
				readFeed({ ...store, db }, { id: SMALL, public_id: "prg" }, position, {
					testOnly: false,
					nowMs: START_MS,
				}),
		],
	),
	["where the feed of events begins", [], (db, store) => startOfFeed({ ...store, db })],
	["whether a position of the feed was reached", [], (db, store) => hasReached({ ...store, db }, MIDDLE)],
	["a conversion's history", ["moves_by_conversion"], (db) => listMoves(db, 77)],
	["a conversion's refunds", ["refunds_by_conversion"], (db) => listRefunds(db, 77)],
	["the refunds of a file's lines", ["refunds_by_conversion"], (db) => findRefunds(db, [77, 78])],
	[
		"conversions of many orders, for calls and jobs",
		["conversions_by_order"],
		(db) =>
			findByOrders(
				db,
				Array.from({ length: 500 }, (_, n) => ({ programme_id: LARGE, order_id: `order ${n * 100}` })),
			),
	],
	["a selection of conversions", [], (db) => findManyByPublicId(db, ["cnv00000001", "cnv00000002"])],
	[
		"the moves that are read for mails about sales",
		[],
		(db, store) => listMovesForNews({ ...store, db }, MIDDLE, 500),
	],
	["the person whose mail about sales is due", ["sale_news_by_due"], (db) => findReaderToMail(db, START_MS)],
	[
		"the programme whose weekly mail is due",
		["programmes_by_weekly_mail"],
		(db) => findProgrammeToRemind(db, START_MS),
	],
	["a programme's jobs", ["jobs_by_programme"], (db) => listJobs(db, SMALL, ["decisions"], 20)],
	[
		"a slice of a programme's totals",
		["conversions_by_sale"],
		(db) => tallySlice(db, { programmeId: SMALL, after: MIDDLE, limit: 2_000 }),
	],
	[
		"the newest answers of listeners",
		["local_answers_by_receiver"],
		(db) => listNewestAnswers(db, SMALL_RECEIVER, 20),
	],
	[
		"the answers of listeners about a conversion",
		["local_answers_by_conversion"],
		(db) => listAnswersOf(db, SMALL_RECEIVER, "cnv00000007", 20),
	],
	[
		"which events of conversions were announced",
		["moves_by_conversion"],
		(db) => findAnnounced(db, SMALL, ["cnv00000007", "cnv00000009"]),
	],
	["a partner's receiver", [], (db) => findPartnerReceiver(db, 7)],
	["the endpoint of a receiver", [], (db) => presentEndpoint(db, SMALL_RECEIVER)],
	[
		"old answers of listeners",
		[],
		(db, store) => pruneLog("local_answers", within(store, db), createClock(), 0, never),
	],
	["a slice of the network's totals", [], (db) => tallySlice(db, { after: MIDDLE, limit: 2_000 })],
	[
		"callbacks of the network on one day",
		["callback_quarters_by_time"],
		(db) => sumCallbacks(db, START_MS - DAY_MS, START_MS),
	],
	[
		"the subjects of a page of the audit log",
		[],
		(db) => {
			const subjects = ["cnv_00000001", "cnv_2", "dlv_1", "dlv_2", "job_1", "a@shop.example"];
			return readAuditSubjects(
				db,
				subjects.map((subject) => ({ subject })),
			);
		},
	],
	["whether a programme has conversions", [], (db) => hasConversions(db, SMALL)],
	["the first page of programmes", ["notices_open"], (db) => listProgrammes(db, FIRST_50)],
	[
		"a later page of programmes",
		["notices_open"],
		(db) => listProgrammes(db, { after: { at: 100, id: 100 }, limit: 50 }),
	],
	[
		"a person's programmes with their undecided conversions",
		["programme_people_by_person", "conversions_by_list"],
		(db) => listProgrammes(db, { personId: 7, ...FIRST_50 }),
	],
	[
		"a programme found by its id",
		["conversions_by_list"],
		(db) => listProgrammes(db, { search: "prg_7", ...FIRST_50 }),
	],
	["programmes found by their name", [], (db) => listProgrammes(db, { search: "sHÖp", ...FIRST_50 })],
	["a programme's people", ["sign_in_links_by_person"], (db) => listProgrammePeople(db, SMALL, START_MS)],
	["the staff", ["people_by_kind"], (db) => listStaff(db, START_MS)],
	["a link that is followed", [], (db) => findOpenSignInLink(db, "x", 0)],
	["whether a person has a password", [], (db) => hasPassword(db, 7)],
	["the programmes of a person", [], (db) => listProgrammesOf(db, 77, 50)],
	["one programme of a person", [], (db) => findProgrammeOf(db, 77, "prg_7")],
	[
		"a page of notices",
		["notices_by_receiver"],
		(db) => listNotices(db, SMALL_RECEIVER, { limit: 20, isCounted: true }),
	],
	[
		"a later page of notices",
		["notices_by_receiver"],
		(db) => listNotices(db, SMALL_RECEIVER, { after: MIDDLE, limit: 20 }),
	],
	["the open notice", ["notices_open"], (db) => findOpenNotice(db, LARGE_RECEIVER)],
	[
		"count of undelivered callbacks",
		["queue_by_due", "undelivered_in_sight"],
		(db) => countUndelivered(db, LARGE_RECEIVER),
	],
	[
		"shops whose callbacks are failing",
		["notices_open", "queue_by_due", "undelivered_in_sight"],
		(db) => listFailing(db, "shop", 10, START_MS),
	],
	[
		"partners whose callbacks are failing",
		["notices_open", "queue_by_due", "undelivered_in_sight"],
		(db) => listFailing(db, "partner", 10, START_MS),
	],
	[
		"audit entries of a programme",
		["audit_entries_by_programme"],
		(db) => listAudit(db, { programmeId: SMALL }, FIRST_50),
	],
	[
		"audit entries of a person",
		["audit_entries_by_person"],
		(db) => listAudit(db, { personId: 7 }, FIRST_50),
	],
	[
		"audit entries of one action",
		["audit_entries_by_action"],
		(db) => listAudit(db, { action: "network.changed" }, FIRST_50),
	],
	[
		"audit entries of a period",
		["audit_entries_by_time"],
		(db) => listAudit(db, { fromMs: 100_000, beforeMs: 110_000 }, FIRST_50),
	],
	["notices that are not mailed yet", ["notices_to_mail"], (db) => countUnmailedNotices(db, START_MS)],
	["a partner's account", ["entries_by_kind"], (db) => listEntries(db, { partnerId: 7 }, FIRST_50)],
	[
		"a later page of a partner's account",
		["entries_by_kind"],
		(db) => listEntries(db, { partnerId: 7 }, { limit: 50, after: MIDDLE }),
	],
	...(["CHANGED", "ADJUSTED", "PAID"] as const).map(
		(kind): Read => [
			`${kind} entries of a large account`,
			["entries_by_kind"],
			(db) => listEntries(db, { partnerId: 1, kind }, FIRST_50),
		],
	),
	[
		"EARNED entries of a partner's account",
		[],
		(db) => listEntries(db, { partnerId: 7, kind: "EARNED" }, FIRST_50),
	],
	[
		"the adjustments of a statement",
		["entries_by_kind"],
		(db) => listAdjustments(db, { id: 77, partner_id: 7 }),
	],
	["the open balances of some partners", [], (db) => sumOpenEntries(db, [7, 8, 9], START_MS + ROWS)],
	["the balances of a partner", [], (db) => findBalances(db, 7)],
	["the newest statements of partners", [], (db) => findNewestStatements(db, [7, 8, 9])],
	["the newest statements of the network", [], (db) => listStatements(db, {}, FIRST_50)],
	[
		"statements of a month",
		["statements_by_month"],
		(db) => listStatements(db, { month: "m3" }, { limit: 50, after: MIDDLE }),
	],
	[
		"statements of a month that are to be paid",
		["statements_by_month"],
		(db) => listStatements(db, { month: "m3", state: "to_pay" }, FIRST_50),
	],
	[
		"statements of all months that are to be paid",
		[],
		(db) => listStatements(db, { state: "to_pay" }, FIRST_50),
	],
	[
		"the statements of a month whose partners have no payment details",
		[],
		(db) => findUnpayable(db, "m3", 10),
	],
	["all statements whose partners have no payment details", [], (db) => findUnpayable(db, undefined, 10)],
	["the number of statements that are to be paid", [], (db) => countToPay(db)],
	["statements of a partner", [], (db) => listStatements(db, { partnerId: 7 }, FIRST_50)],
	["the months that have statements", ["statements_by_month"], (db) => listStatementMonths(db, 24)],
	["sums of the statements of a month", ["statements_by_month"], (db) => sumStatements(db, { month: "m3" })],
	["one statement", [], (db) => findStatement(db, "stm77")],
	["the lines of a statement", [], (db) => listStatementLines(db, 77)],
	["the proof of a statement", [], (db) => readStatementEntries(db, PROVEN, 1_000).next()],
	["statements by their numbers", [], (db) => findStatementsByNumber(db, ["n1", "n2"])],
	[
		"expired conversions that retention removes",
		["conversions_by_window", "moves_by_conversion"],
		(db, store) => pruneExpired(within(store, db), createClock(), START_MS, never),
	],
];

/** Numbers of rows of a batch whose plans are checked. */
const BATCH_SIZES = [1, 64];
const idsUpTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);
/** Tables of all modules, in the order of the modules. */
const TABLES = CHANGES.modules.flatMap(({ tables = [] }) => tables);
const programmeOf = (n: number) => 1 + (n % PROGRAMMES);

/** The reads of a batch, and the indexes that they must use. On SQLite, checkSqliteBatch checks all of its statements. */
const BATCH_READS: readonly (readonly [
	what: string,
	indexes: readonly string[],
	read: (store: Store, db: Db, count: number) => Promise<unknown>,
])[] = [
	[
		"the nonces, orders and shops of a batch",
		["nonces_pkey", "conversions_by_order"],
		({ batch }, db, count) =>
			batch.look(db, {
				nonces: idsUpTo(count).map((n) => ({ programme_id: programmeOf(n), nonce: `nonce ${n}` })),
				orders: idsUpTo(count).map((n) => ({ programme_id: programmeOf(n), order_id: `order ${n}` })),
				programmeIds: idsUpTo(count),
			}),
	],
	[
		"the keys of callers, with their programmes and secrets",
		["api_keys_hash_key"],
		({ batch }, db, count) =>
			findKeyHolders(
				{ db, batch },
				idsUpTo(count).map((n) => `hash ${n}`),
				START_MS,
			),
	],
	[
		"the programmes of pixel calls",
		[],
		({ batch }, db, count) =>
			findProgrammesToCall(
				{ db, batch },
				idsUpTo(count).map((n) => `prg${n}`),
			),
	],
	["the locks of a batch", ["conversions_pkey"], ({ batch }, db, n) => batch.lock(db, idsUpTo(n))],
	[
		"credits of a batch",
		["credits_pkey"],
		({ batch }, db, n) => batch.find(db, CREDIT_OF_CONVERSION, keysOf(idsUpTo(n))),
	],
	[
		"refunds of a batch",
		["refunds_by_conversion"],
		({ batch }, db, n) => batch.find(db, REFUNDS_OF_CONVERSION, keysOf(idsUpTo(n))),
	],
	[
		"coupon codes of a batch",
		["coupon_codes_pkey", "partnerships_pkey"],
		({ batch }, db, count) =>
			batch.find(
				db,
				PARTNERSHIP_OF_CODE,
				idsUpTo(count).map((n) => ({ programme_id: programmeOf(n), folded: `code ${n}` })),
			),
	],
	[
		"partnerships of a batch",
		["partnerships_pkey"],
		({ batch }, db, n) => batch.find(db, PARTNERSHIP, keysOf(idsUpTo(n))),
	],
	[
		"codes of the links of a batch",
		["partner_links_pkey"],
		({ batch }, db, n) => batch.find(db, CODE_OF_LINK, keysOf(idsUpTo(n))),
	],
	[
		"events that were stored about conversions of a batch",
		["events_once_per_conversion"],
		({ batch }, db, n) => batch.find(db, EVENTS_OF_CONVERSION, keysOf(idsUpTo(n))),
	],
];

/** Indexes with which parts of a write find stored rows. All other parts only insert rows. */
const WRITE_INDEXES: Readonly<Record<string, string>> = {
	changed: "conversions_pkey",
	keptBodies: "moves_by_conversion",
	keyUses: "api_keys_pkey",
};

/**
 * States of the planner's statistics for the tables that the engine and the lists use. They are changed in a transaction
 * that is rolled back. SQLite never has statistics.
 */
const STATISTICS: readonly (readonly [which: string, prepare: (trx: Db) => Promise<void>])[] = [
	["fresh", async () => undefined],
	[
		"missing",
		async (trx) => {
			const tables = sql`('queue'::regclass, 'deliveries'::regclass, 'events'::regclass, 'conversions'::regclass,
				'credits'::regclass)`;
			await sql`delete from pg_statistic where starelid in ${tables}`.execute(trx);
			await sql`update pg_class set relpages = 0, reltuples = -1 where oid in ${tables}`.execute(trx);
		},
	],
];

eachDatabase("query plans", (database) => {
	before(() => fillTables(database.store));

	for (const [what, indexes, run] of READS) {
		const expected =
			indexes.length === 0 ? "no table is read from end to end" : `uses ${indexes.join(" and ")}`;
		test(`${what}: ${expected}`, () =>
			rolledBack(database.store, async (trx) => {
				const plans = await plansOf(database.kind, trx, (db) => run(db, database.store));
				checkPlans(plans, indexes);
			}));
	}

	for (const [what, indexes, read] of BATCH_READS) {
		test(`${what}: uses ${indexes.join(" and ")}`, async () => {
			const { kind, store } = database;
			if (kind === "SQLite") return checkSqliteBatch(database);
			for (const count of BATCH_SIZES) {
				await rolledBack(store, async (trx) => {
					const plans = await plansOf(kind, trx, (db) => read(store, db, count));
					equal(plans.length, 2, "one plan for these parameters, and one for any");
					for (const plan of plans) checkPlans([plan], indexes);
				});
			}
		});
	}

	for (const [statistics, prepare] of STATISTICS) {
		for (const parts of shapesWith(TABLES)) {
			test(`the statement that writes ${parts.join(", ")} reads no table from end to end, with ${statistics} statistics`, async () => {
				const { kind, store } = database;
				if (kind === "SQLite") return checkSqliteBatch(database);
				const indexes = parts.flatMap((part) => WRITE_INDEXES[part] ?? []);
				for (const count of BATCH_SIZES) {
					await rolledBack(store, async (trx) => {
						await prepare(trx);
						const isPart = (name: string) => parts.some((part) => part === name);
						const { ofModules, ...ofCore } = await makeBatchRows(trx, count, isPart("started"));
						const lists = Object.fromEntries(Object.entries(ofCore).filter(([part]) => isPart(part)));
						const some = ofModules.map(({ table, rows }) => ({
							table,
							rows: isPart(table.name) ? rows : [],
						}));
						const plans = await plansOf(kind, trx, (db) =>
							store.batch.write(db, { ...lists, ofModules: some }),
						);
						equal(plans.length, 2, "one plan for these parameters, and one for any");
						for (const plan of plans) checkPlans([plan], indexes);
					});
				}
			});
		}
	}

	test("a later page of a list begins after the last row of the previous one, and does not read the rows before it", async () => {
		if (database.kind !== "SQLite") return; // On PostgreSQL the condition of an index scan always compares the whole row.
		const deep = { programmeId: LARGE, limit: 50, beforeMs: MIDDLE_MS, after: MIDDLE };
		for (const filter of [{}, { status: "APPROVED" }] as const) {
			const plans = await plansOf(database.kind, database.store.db, (db) =>
				listConversions(db, { ...deep, ...filter }),
			);
			const searches = plans.flatMap(({ lines }) => lines).filter((line) => line.includes("conversions_by_"));
			ok(searches.length > 0);
			for (const line of searches) match(line, /rowid>\? AND rowid<\?\)/);
		}
	});

	test("a part of an order id is searched in the trigram index, the newest first", async () => {
		const { kind, store } = database;
		const plans = await plansOf(kind, store.db, (db) =>
			collectMatches(db, { search: readOrderSearch("der 30123") }),
		);
		const finding = plans.filter((plan) => plan.lines.some((line) => line.includes("order_search")));
		const lines = finding.flatMap((plan) => plan.lines).join("\n");
		if (kind === "PostgreSQL") return match(lines, /Bitmap Index Scan on conversions_by_part/);
		match(lines, /MERGE \(UNION ALL\)[\s\S]*order_search VIRTUAL TABLE INDEX \d+:L/);
		match(lines, /SEARCH conversions USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)/);
		// Only the few rows that were found may be sorted again.
		doesNotMatch(lines, /(?:VIRTUAL TABLE INDEX|SEARCH conversions)[^\n]*\nUSE TEMP B-TREE/);
	});

	for (const [statistics, prepare] of STATISTICS) {
		test(`every list of conversions reads a few pages of each bucket, even if nothing is found, with ${statistics} statistics`, async () => {
			const { kind, store } = database;
			if (kind === "SQLite") return; // SQLite has no statistics, so the plans above are the only ones.
			await rolledBack(store, async (trx) => {
				await prepare(trx);
				for (const filter of listFilters()) {
					const { db, queries } = recordQueries(trx);
					await listConversions(db, { limit: 50, ...filter });
					for (const query of queries) await checkPagesRead(trx, query, JSON.stringify(filter));
				}
				// The API reads this list with this setting, which ends with the transaction.
				await store.forceIndexes(trx);
				for (const programmeId of [LARGE, SMALL, NO_CONVERSIONS]) {
					const { db, queries } = recordQueries(trx);
					const sort = sortBy("change", "asc");
					await listConversions(db, { programmeId, sort, changedFromMs: START_MS, limit: 50 });
					for (const query of queries) await checkPagesRead(trx, query, `changes of ${programmeId}`);
				}
			});
		});

		test(`a pass touches only the rows it reads and settles, for one programme and for forty, with ${statistics} statistics`, async () => {
			const { kind, store } = database;
			if (kind === "SQLite") return checkSqliteQueue(database);
			for (const requests of [REQUESTS.slice(0, 1), REQUESTS]) {
				await rolledBack(store, async (trx) => {
					// In the test data every delivery has a row in both `queue` and `undelivered`, which a real
					// delivery never has.
					await trx.deleteFrom("undelivered").execute();
					await prepare(trx);
					const plans = await plansOf(kind, trx, (db) => runPassOver(store, db, requests));
					checkPlans(plans, ["queue_by_due", "queue_pkey", "events_pkey"]);
				});
			}
		});

		test(`reading the first due rows skips from programme to programme with the index queue_by_due, with ${statistics} statistics`, async () => {
			const { kind, store } = database;
			if (kind === "SQLite") return checkSqliteQueue(database);
			await rolledBack(store, async (trx) => {
				await prepare(trx);
				const readFirstDue = (db: Db) => store.queue.readFirstDue(db, ALL_SLOTS);
				const plans = await plansOf(kind, trx, readFirstDue);
				equal(plans.length, 2, "one plan for these parameters, and one for any");
				for (const plan of plans) checkPlans([plan], ["queue_by_due"]);
				// Only an executed plan shows how the query steps from one programme to the next.
				const { db, queries } = recordQueries(trx);
				equal((await readFirstDue(db)).length, PROGRAMMES);
				const [query] = queries;
				const run = CompiledQuery.raw(`explain analyze ${query?.sql}`, [...(query?.parameters ?? [])]);
				const { rows } = await trx.executeQuery<{ "QUERY PLAN": string }>(run);
				const reads = rows
					.map((row) => row["QUERY PLAN"])
					.filter((line) => / on (?:queue|\w+_by_due)/.test(line));
				equal(reads.length, 3, "the first receiver, the next after each, and the first row of each");
				for (const line of reads)
					match(line, /Index Only Scan using queue_by_due .* rows=(?:1|1\.00|0\.99) /);
			});
		});
	}

	test("due rows of a long queue come in the order of their due time", async () => {
		const { store } = database;
		await rolledBack(store, async (trx) => {
			const { deliveries } = await store.queue.readDue(trx, REQUESTS, START_MS);
			ok(deliveries.length > 0);
			for (const { receiverId } of REQUESTS) {
				const mine = deliveries.filter((delivery) => delivery.receiverId === receiverId);
				const times = mine.map(({ dueAtMs }) => dueAtMs);
				deepEqual(
					times,
					times.toSorted((a, b) => a - b),
				);
			}
		});
	});
});

/** Returns this many rows of each kind. If the batch starts conversions, half of the other rows are about these. */
async function makeBatchRows(db: Db, count: number, isStarting: boolean): Promise<BatchRows> {
	const recorded = db.selectFrom("conversions").selectAll().where("status", "=", "RECORDED");
	const known = await recorded.orderBy("id").limit(count).execute();
	equal(known.length, count);
	const keys = known.map(({ id, programme_id }, n) => ({ n, id, programme_id }));
	const eitherId = ({ n, id }: { n: number; id: number }) => (isStarting && n % 2 === 0 ? -(n + 1) : id);
	return {
		nonces: keys.map(({ n, programme_id }) => ({
			...{ programme_id, nonce: `new ${n}`, expires_at_ms: START_MS },
		})),
		changed: known.map((before) => ({ before, after: { ...before, status: "APPROVED" } })),
		started: keys.map(({ n, programme_id }) => ({ ...newConversion(programme_id), id: -(n + 1) })),
		keptBodies: keys.map(({ id }) => ({ conversion_id: id, body: "{}" })),
		moves: keys.map(({ programme_id, ...one }) => ({
			...{ programme_id, conversion_id: eitherId(one), move: "record", to_status: "RECORDED" },
			...{ decided_by: null, person_id: null, reason: null, at_ms: START_MS },
		})),
		ofModules: [
			CREDITS.add(
				keys.map(({ programme_id, ...one }) => ({
					...{ programme_id, conversion_id: eitherId(one), partnership_id: 1, word: "CODE" },
					...{ sold_at_ms: START_MS, link_id: null, clicked_at_ms: null, sub_1: "", sub_2: "", sub_3: "" },
				})),
			),
			REFUNDS.add(
				keys.map(({ programme_id, n, id }) => ({
					...{ programme_id, conversion_id: id, refund_id: `new ${n}`, amount: "1.00", basket_value: "9.00" },
					...{ reason: "RETURN", person_id: null, at_ms: START_MS },
				})),
			),
			ENTRIES.add(
				keys.map(({ programme_id, ...one }) => ({
					...{ programme_id, conversion_id: eitherId(one), partner_id: 1, kind: "EARNED", amount: "1.00" },
					...{ currency: "EUR", person_id: null, reason: null, at_ms: START_MS },
				})),
			),
		],
		events: keys.map(({ n, id, programme_id }) => ({
			...{ conversion_id: eitherId({ n, id }), receiver_id: receiverOf(programme_id), endpoint_epoch: 0 },
			...{ public_id: `new ${n}`, name: "conversion.approved", body: "{}", at_ms: START_MS },
		})),
		inboundCalls: keys.map(({ programme_id }) => ({
			...{ programme_id, kind: "api", method: "POST", target: "/v1/conversions" },
			...{ outcome: "RECORDED", http_status: 201, at_ms: START_MS },
		})),
		firstTimes: keys.map(({ n }) => ({
			...{ programme_id: n + 1, signed_at_ms: START_MS, pixel_at_ms: null },
		})),
		keyUses: keys.map(({ n }) => ({ key_id: n + 1, at_ms: START_MS, not_after_ms: START_MS })),
	};
}

/** Returns a list for every status, event type and sort, of a large, a small and an empty programme and of all programmes. */
function listFilters(): Filter[] {
	const sorts = (["recorded", "sale", "basket"] as const).flatMap((by) => [
		sortBy(by, "asc"),
		sortBy(by, "desc"),
	]);
	const kinds: Filter[] = [
		{},
		{ isTest: true },
		...STATUSES.map((status) => ({ status })),
		...EVENT_TYPES.map((eventType) => ({ eventType })),
		{ status: "REVERSED", eventType: "SIGNUP" },
	];
	const ofOne = [LARGE, SMALL, NO_CONVERSIONS].flatMap((programmeId): Filter[] => [
		...kinds.map((kind) => ({ programmeId, ...kind })),
		...sorts.map((sort) => ({ programmeId, sort })),
		{ programmeId, sort: sortBy("sale", "desc"), soldFromMs: START_MS, soldBeforeMs: START_MS + 5 },
		{ programmeId, sort: sortBy("decision", "desc"), decidedFromMs: START_MS, decidedBeforeMs: START_MS + 5 },
		{ programmeId, beforeMs: MIDDLE_MS, after: MIDDLE },
		{ programmeId, fromMs: START_MS, beforeMs: START_MS + ROWS },
	]);
	return [...ofOne, ...kinds];
}

/**
 * Checks how many pages a list's statement reads on PostgreSQL. Before version 18, an index scan for a row
 * comparison stops only where the first compared column changes. If several columns identified a bucket,
 * reading an empty bucket would scan all remaining rows of the shop.
 */
async function checkPagesRead(trx: Db, query: CompiledQuery, what: string): Promise<void> {
	const text = `explain (analyze, buffers) ${query.sql}`;
	const { rows } = await trx.executeQuery<{ "QUERY PLAN": string }>(
		CompiledQuery.raw(text, [...query.parameters]),
	);
	const lines = rows.map((row) => row["QUERY PLAN"]);
	const plan = `${what}\n${lines.join("\n")}`;
	for (const [, columns = ""] of plan.matchAll(/ROW\(([^)]*)\) [<>]/g))
		equal(columns.split(", ").length, 2, plan);
	// The table of breaks has a row for each time that the clock was set back, so it is read completely.
	doesNotMatch(plan, /Seq Scan on (?!recording_breaks)/, plan);
	const [, hit = "0"] = /shared hit=(\d+)/.exec(plan) ?? [];
	const [, read = "0"] = /shared.* read=(\d+)/.exec(plan) ?? [];
	ok(Number(hit) + Number(read) <= MAX_LIST_PAGES, plan);
}

/** Runs each statement of a pass once. */
async function runPassOver(store: Store, db: Db, requests: readonly ReadRequest[]): Promise<void> {
	const { queue } = store;
	await queue.register(db, 5, 1, START_MS);
	await queue.beginPass(db, 5, null);
	await queue.beginPass(db, 5, { mostInFlight: 512, nowMs: START_MS });
	await queue.removeSilentEngines(db, START_MS);
	await queue.readSlots(db, 5, START_MS);
	const slots = await queue.takeSlots(db, 5, SLOTS);
	const { deliveries } = await queue.readDue(db, requests, START_MS);
	await queue.readTargets(
		db,
		requests.map(({ receiverId }) => receiverId),
	);
	// The deliveries are settled as if they had one attempt already.
	const endings: readonly ((delivery: DueDelivery) => Settlement)[] = [
		delivered,
		(delivery) => retried(delivery, START_MS + 60_000),
		(delivery) => ({ kind: "cancelled", delivery, endedAtMs: START_MS }),
	];
	const settlements = endings.map((end, n) => {
		const delivery = deliveries[n];
		if (delivery === undefined) throw new Error("too few deliveries are due");
		return end({ ...delivery, seq: 1 });
	});
	equal((await queue.settle(db, 5, settlements))?.size, settlements.length);
	await queue.giveUpSlots(db, 5, slots.slice(1));
	await queue.removeEngine(db, 5);
}

function checkPlans(plans: readonly QueryPlan[], indexes: readonly string[]): void {
	ok(plans.length > 0);
	const lines = plans.flatMap((plan) => plan.lines).join("\n");
	const walks = plans.flatMap((plan) => plan.walks).filter((walk) => LARGE_TABLES.includes(walk));
	deepEqual(walks, [], lines);
	const used = plans.flatMap((plan) => plan.indexes);
	for (const index of indexes) ok(used.includes(index), `does not use ${index}:\n${lines}`);
}

/** Returns a store whose transactions run inside `db`, which is a transaction that is rolled back. */
function within(store: Store, db: Db): Store {
	return { ...store, db, transact: (work) => work(db), lookAlongIndexes: (look) => look(db) };
}

/**
 * Returns a store whose transactions run inside `db`, and makes the planner use indexes, as
 * `Store.lookAlongIndexes` does.
 */
function alongIndexes(store: Store, db: Db): Store {
	return {
		...within(store, db),
		async lookAlongIndexes(look) {
			await store.forceIndexes(db);
			return look(db);
		},
	};
}

/**
 * Checks all statements of the SQLite queue. They do not go through Kysely, so the recorder does not see
 * them.
 */
async function checkSqliteQueue({ location, store }: SuiteDatabase): Promise<void> {
	const database = new RememberingDatabase(location);
	try {
		await createSqliteQueue(database).readFirstDue(store.db, ALL_SLOTS);
		const plans = database.plans();
		ok(plans.length >= 8);
		const walked = plans.flatMap(({ walks }) => walks).filter((walk) => !SMALL_WALKS.includes(walk));
		deepEqual(walked, []);
		// The statements read the due rows, the next due time, and the first due rows. The last one uses the
		// index three times.
		const byDue = plans.map(({ indexes }) => indexes.filter((index) => index === "queue_by_due").length);
		deepEqual(
			byDue.filter((times) => times > 0).sort((a, b) => a - b),
			[1, 1, 3],
		);
	} finally {
		database.close();
	}
}

/** Checks all statements of a batch on SQLite, which do not go through Kysely either. */
async function checkSqliteBatch({ location, store }: SuiteDatabase): Promise<void> {
	const database = new RememberingDatabase(location);
	try {
		const batch = createSqliteBatch(database);
		// Statements are prepared at their first use. Those of the modules' tables are prepared without rows, too.
		await store.transact(async (trx) => {
			for (const [, , read] of BATCH_READS) await read({ ...store, batch }, trx, 1);
			await batch.write(trx, { ofModules: TABLES.map((table) => table.add([])) });
		});
		const plans = database.plans();
		ok(plans.length >= 24, `${plans.length} plans`);
		deepEqual(
			plans.flatMap(({ walks }) => walks),
			[],
		);
		const indexes = plans.flatMap((plan) => plan.indexes);
		equal(indexes.filter((index) => index === "moves_by_conversion").length, 1);
	} finally {
		database.close();
	}
}

async function rolledBack(store: Store, work: (trx: Db) => Promise<void>): Promise<void> {
	const rollBack = new Error("only to roll back");
	await store
		.transact(async (trx) => {
			await work(trx);
			throw rollBack;
		})
		.catch((error: unknown) => {
			if (error !== rollBack) throw error;
		});
}
