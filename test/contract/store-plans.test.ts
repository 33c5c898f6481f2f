// Every query that runs all day, or that a page or a chore makes, is answered along an index on both databases: one
// table of (query, indexes), over tables that are large enough for the planner to have a choice.

import { deepEqual, equal, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { readCallbackHealth } from "../../src/callbacks/health.ts";
import { explainOrder } from "../../src/conversions/explain-order.ts";
import { makeMoves } from "../../src/conversions/make-moves.ts";
import { findDeliveryDetail, listAttempts } from "../../src/store/attempt-list.ts";
import { findByOrder, hasWindowEnded, listWindowEnded } from "../../src/store/conversions.ts";
import { failedSince } from "../../src/store/deliveries.ts";
import {
	type DeliveryFilter,
	listDeliveries,
	listDeliveriesOfConversion,
	newestProgress,
} from "../../src/store/delivery-list.ts";
import { type InboundFilter, listInboundCalls } from "../../src/store/inbound-list.ts";
import { readIntegrationChecks } from "../../src/store/integration-checks.ts";
import { listApiKeys } from "../../src/store/keys.ts";
import { findNoticesToMail } from "../../src/store/notices.ts";
import { pruneExpired } from "../../src/store/prune.ts";
import { createSqliteQueue } from "../../src/store/sqlite-queue.ts";
import type { Db, Store } from "../../src/store/store.ts";
import { findNewestTest } from "../../src/store/test-conversion.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase, type SuiteDatabase } from "../support/databases.ts";
import { fillTables, LARGE, LARGE_TABLES, ROWS, SMALL } from "../support/large-tables.ts";
import { plansOf, RememberingDatabase } from "../support/query-plan.ts";
import { createRandom } from "../support/random.ts";

/** No query of `run` walks a large table, and together they use the indexes. */
type Read = readonly [
	what: string,
	indexes: readonly string[],
	run: (db: Db, store: Store) => Promise<unknown>,
];

const LATER = { at: START_MS, id: ROWS / 2 };
/** The last of them. */
const PARKED = ROWS - 98;
const REQUESTS = Array.from({ length: 40 }, (_, n) => ({ programmeId: n + 1, limit: 8 }));
const never = () => false;

const DELIVERY_LISTS: readonly (readonly [what: string, index: string, filter: Partial<DeliveryFilter>])[] = [
	["the newest deliveries", "deliveries_by_programme", {}],
	["a later page of deliveries", "deliveries_by_programme", { after: LATER }],
	[
		"delivered ones of one event",
		"deliveries_by_programme",
		{ state: "delivered", event: "conversion.reversed" },
	],
	["failed ones", "deliveries_failed", { state: "failed" }],
	["a later page of failed ones", "deliveries_failed", { state: "failed", after: LATER }],
	["pending ones", "queue_by_due", { state: "pending" }],
	["a later page of pending ones", "queue_by_due", { state: "pending", after: LATER }],
	["an order's deliveries", "conversions_by_order", { orderId: "order 2" }],
];
const CALL_LISTS: readonly (readonly [what: string, index: string, filter: Partial<InboundFilter>])[] = [
	["the newest calls", "inbound_calls_by_programme", {}],
	["refused calls", "inbound_calls_by_programme", { result: "refused" }],
	["a later page of calls", "inbound_calls_by_programme", { after: LATER }],
	["an order's calls", "inbound_calls_by_order", { orderId: "order 2" }],
];

/** Of a programme with half of all rows PostgreSQL may choose another index. */
function ofBoth(
	what: string,
	index: string,
	list: (db: Db, programmeId: number) => Promise<unknown>,
): readonly Read[] {
	return [
		[`${what} of a small programme`, [index], (db) => list(db, SMALL)],
		[`${what} of a large programme`, [], (db) => list(db, LARGE)],
	];
}

const READS: readonly Read[] = [
	...(["RECORDED", "PARKED"] as const).flatMap((from): Read[] => [
		[
			`${from} conversions whose window has ended`,
			["conversions_by_window"],
			(db) => listWindowEnded(db, from, START_MS, 100),
		],
		[
			`whether a window of ${from} conversions has ended`,
			["conversions_by_window"],
			(db) => hasWindowEnded(db, from, START_MS),
		],
	]),
	...[LARGE, SMALL].map(
		(programmeId): Read => [
			`failed deliveries of programme ${programmeId} since a time`,
			["deliveries_failed"],
			(db) => failedSince(db, programmeId, START_MS - 1_000, 100),
		],
	),
	["notices to be mailed", ["notices_to_mail"], (db) => findNoticesToMail(db, START_MS - 1)],
	...DELIVERY_LISTS.flatMap(([what, index, filter]) =>
		ofBoth(what, index, (db, programmeId) => listDeliveries(db, { programmeId, limit: 25, ...filter })),
	),
	...CALL_LISTS.flatMap(([what, index, filter]) =>
		ofBoth(what, index, (db, programmeId) => listInboundCalls(db, { programmeId, limit: 50, ...filter })),
	),
	[
		"why an order is here",
		["conversions_by_order", "inbound_calls_by_order"],
		(db) => explainOrder(db, SMALL, "order 2"),
	],
	[
		"why an order is not here",
		["inbound_calls_by_programme"],
		(db) => explainOrder(db, SMALL, "no such order"),
	],
	["the checks of the integration", [], (db) => readIntegrationChecks(db, SMALL)],
	[
		"the health strip",
		["queue_by_due", "deliveries_by_programme"],
		(db) => readCallbackHealth(db, SMALL, START_MS),
	],
	["the last test", ["conversions_tests"], (db) => findNewestTest(db, LARGE)],
	["a programme's keys", [], (db) => listApiKeys(db, SMALL, 50)],
	[
		"what a live page asks every second",
		["deliveries_by_programme", "inbound_calls_by_programme"],
		(db) => newestProgress(db, SMALL),
	],
	["one delivery", [], (db) => findDeliveryDetail(db, LARGE, "dlv2")],
	["a delivery's attempts", [], (db) => listAttempts(db, 2)],
	["a conversion's deliveries", ["events_once_per_conversion"], (db) => listDeliveriesOfConversion(db, 2)],
	[
		"expired conversions that are due to go",
		["conversions_by_window", "moves_by_conversion"],
		(db, store) => {
			const same = { ...store, db, transact: <Value>(work: (trx: Db) => Promise<Value>) => work(db) };
			return pruneExpired(same, createClock(), START_MS, never);
		},
	],
	[
		"a parked conversion that is confirmed",
		["moves_by_conversion"],
		async (db) => {
			const known = await findByOrder(db, LARGE, `order ${PARKED}`, "SALE");
			ok(known?.status === "PARKED");
			await makeMoves(db, { clock: createClock(), random: createRandom() }, [
				{ move: "confirm", known, change: {} },
			]);
		},
	],
];

eachDatabase("plans", (database) => {
	before(() => fillTables(database.store));

	for (const [what, indexes, run] of READS) {
		const along =
			indexes.length === 0 ? "no table is read from end to end" : `along ${indexes.join(" and ")}`;
		test(`${what}: ${along}`, () =>
			rolledBack(database.store, async (trx) => {
				const plans = await plansOf(database.kind, trx, (db) => run(db, database.store));
				ok(plans.length > 0);
				const lines = plans.flatMap((plan) => plan.lines).join("\n");
				const walks = plans.flatMap((plan) => plan.walks).filter((walk) => LARGE_TABLES.includes(walk));
				deepEqual(walks, [], lines);
				const used = plans.flatMap((plan) => plan.indexes);
				for (const index of indexes) ok(used.includes(index), `not along ${index}:\n${lines}`);
			}));
	}

	test("claiming touches only the rows it takes, for one programme and for forty", async () => {
		const { kind, store } = database;
		if (kind === "SQLite") return checkSqliteQueue(database);
		for (const requests of [REQUESTS.slice(0, 1), REQUESTS]) {
			await rolledBack(store, async (trx) => {
				const [claim] = await plansOf(kind, trx, (db) => store.queue.claim(db, requests, 1, START_MS));
				deepEqual(claim?.walks, []);
				ok(claim?.indexes.includes("queue_by_due"));
			});
		}
	});

	test("the agenda jumps from programme to programme", async () => {
		const { kind, store } = database;
		if (kind === "SQLite") return checkSqliteQueue(database);
		const [agenda] = await plansOf(kind, store.db, (db) => store.queue.agenda(db));
		deepEqual(agenda?.walks, []);
		deepEqual(new Set(agenda?.indexes), new Set(["queue_by_due"]));
	});

	test("claimed rows come in the order of their due time from a long queue, too", async () => {
		const { store } = database;
		await rolledBack(store, async (trx) => {
			const rows = await trx.selectFrom("queue").select(["id", "due_at_ms"]).execute();
			const due = new Map(rows.map((row) => [row.id, row.due_at_ms]));
			const { deliveries } = await store.queue.claim(trx, REQUESTS, 2, START_MS);
			for (const { programmeId } of REQUESTS) {
				const mine = deliveries.filter((delivery) => delivery.programmeId === programmeId);
				const times = mine.map(({ id }) => due.get(id) ?? 0);
				deepEqual(times, times.toSorted());
			}
		});
	});
});

/** The queue's statements do not go through Kysely: all of them are looked at, whatever they are for. */
async function checkSqliteQueue({ location, store }: SuiteDatabase): Promise<void> {
	const database = new RememberingDatabase(location);
	try {
		await createSqliteQueue(database).agenda(store.db);
		const plans = database.plans();
		ok(plans.length > 10);
		// What they may walk is their own: the ids they were given, and the programmes the agenda has found so far.
		const walked = plans
			.flatMap(({ walks }) => walks)
			.filter((walk) => !["json_each", "programme"].includes(walk));
		deepEqual(walked, []);
		equal(plans.filter(({ indexes }) => indexes.includes("queue_by_due")).length >= 3, true);
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
