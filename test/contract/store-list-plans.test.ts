// No list reads a table from end to end, on either database: with tables large enough, and analysed, so that the
// planner has a choice.

import { deepEqual, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { sql } from "kysely";
import { claimJob, listJobs, pruneJobs } from "../../src/store/bulk-jobs.ts";
import {
	countVerdicts,
	listDecidingRows,
	listRepeatedConversions,
	listRows,
} from "../../src/store/bulk-rows.ts";
import { listMoves } from "../../src/store/conversion-history.ts";
import { listConversions } from "../../src/store/conversion-list.ts";
import { findManyByOrder, findManyByPublicId } from "../../src/store/conversions.ts";
import type { Db, Store } from "../../src/store/store.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { analyseAsInService, plansOf } from "../support/query-plan.ts";

const ROWS = 60_000;
const PROGRAMMES = 3_000;
/** Has half of all rows; the others share the rest. */
const LARGE = { id: 1 };
const SMALL = { id: 7 };
const MIDDLE_MS = START_MS + ROWS / 2;
const MIDDLE = { at: ROWS / 2, id: ROWS / 2 };

eachDatabase("plans of lists", (database) => {
	before(() => fill(database.store));

	for (const programme of [LARGE, SMALL]) {
		const size = programme === LARGE ? "large" : "small";
		for (const [title, query, index] of [
			["the first page", {}, "conversions_by_programme"],
			["a later page", { after: MIDDLE }, "conversions_by_programme"],
			["a rare status", { status: "REVERSED" }, "conversions_by_bucket"],
			["a common status", { status: "APPROVED" }, "conversions_by_bucket"],
			["an event type nobody has", { eventType: "INSTALL" }, "conversions_by_bucket"],
			["tests", { isTest: true }, "conversions_by_bucket"],
			[
				"status, type and test",
				{ status: "RECORDED", eventType: "SALE", isTest: false },
				"conversions_by_bucket",
			],
			["a range of time", { fromMs: MIDDLE_MS, beforeMs: MIDDLE_MS + 500 }, "conversions_by_programme"],
			["a status in a range", { status: "REJECTED", beforeMs: MIDDLE_MS }, "conversions_by_bucket"],
			["a whole order id", { orderId: "order 30" }, "conversions_by_order"],
			["an order id", { orderStart: "order 30" }, "conversions_by_order"],
			["an order id, a later page", { orderStart: "order 3", after: MIDDLE }, "conversions_by_order"],
		] as const) {
			test(`${title} of a ${size} programme is read along an index`, async () => {
				// A handful of rows may be read by any index and sorted.
				const expected = programme === LARGE ? index : null;
				await checkPlans(expected, (db) =>
					listConversions(db, { programmeId: programme.id, limit: 50, ...query }),
				);
			});
		}
	}

	test("a later page begins where the one before ended, and does not read up to there", async () => {
		if (database.kind !== "SQLite") return; // PostgreSQL's index conditions hold the whole row.
		const deep = { beforeMs: MIDDLE_MS, after: MIDDLE };
		for (const filter of [{}, { status: "APPROVED" }] as const) {
			const plans = await plansOf(database.kind, database.store.db, (db) =>
				listConversions(db, { programmeId: LARGE.id, limit: 50, ...deep, ...filter }),
			);
			const searches = plans.flatMap(({ lines }) => lines).filter((line) => line.includes("conversions_by_"));
			ok(searches.length > 0);
			for (const line of searches) match(line, /id>\? AND id<\?\)/);
		}
	});

	for (const [title, filter, index] of [
		["a rare status", { status: "REVERSED" }, "conversions_by_status"],
		["a common status", { status: "APPROVED", after: MIDDLE }, "conversions_by_status"],
		["large amounts", { status: "RECORDED", minBasket: "100000" }, "conversions_by_status"],
		["one programme", { programmeId: LARGE.id, status: "RECORDED" }, "conversions_by_bucket"],
		["an order id", { orderStart: "order 30" }, "conversions_by_any_order"],
		["an order id of a status", { orderStart: "order 3", status: "REVERSED" }, "conversions_by_any_order"],
		["an order id, a later page", { orderStart: "order 3", after: MIDDLE }, "conversions_by_any_order"],
		["a programme's order id", { programmeId: LARGE.id, orderStart: "order 30" }, "conversions_by_order"],
	] as const) {
		test(`Review of ${title} is read along an index`, async () => {
			await checkPlans(index, (db) => listConversions(db, { limit: 50, ...filter }));
		});
	}

	test("a conversion's history is found by its id", async () => {
		await checkPlans("moves_by_conversion", (db) => listMoves(db, 77));
	});

	test("a job meets its conversions by their orders, a selection by their ids", async () => {
		const many = Array.from({ length: 500 }, (_, index) => index * 100);
		await checkPlans("conversions_by_order", (db) =>
			findManyByOrder(
				db,
				LARGE.id,
				many.map((i) => `order ${i}`),
			),
		);
		await checkPlans(null, (db) => findManyByPublicId(db, ["cnv00000001", "cnv00000002"]));
	});

	test("jobs and their rows are found without reading the others", async () => {
		await checkPlans("bulk_jobs_to_do", (db) => claimJob(db, "claim", START_MS, START_MS));
		await checkPlans(null, (db) => listJobs(db, LARGE.id, 20));
		await checkPlans(null, (db) => listRows(db, { jobId: 77, afterSeq: 3, limit: 100 }));
		await checkPlans(null, (db) => countVerdicts(db, 77));
		// Of a job this small, PostgreSQL reads all rows as gladly as the index.
		await checkPlans(database.kind === "SQLite" ? "bulk_rows_by_conversion" : null, (db) =>
			listRepeatedConversions(db, 77, "", 500),
		);
		await checkPlans(null, (db) => listDecidingRows(db, 77, ["cnv1", "cnv2"]));
		await checkPlans("bulk_jobs_by_age", (db) =>
			pruneJobs({ ...database.store, db }, createClock(), START_MS - 1, () => false),
		);
	});

	/** No query of `run` walks a table, and one of them uses the index. */
	async function checkPlans(index: string | null, run: (db: Db) => Promise<unknown>): Promise<void> {
		const { kind, store } = database;
		const plans = await plansOf(kind, store.db, run);
		// What SQLite calls a scan there is the reading of what a bucket gave.
		const walks = plans.flatMap((plan) => plan.walks).filter((walk) => !walk.startsWith("bucket_"));
		deepEqual(walks, []);
		const used = plans.flatMap((plan) => plan.indexes);
		ok(index === null || used.includes(index), `uses ${used.join(", ")} instead of ${index}`);
	}
});

async function fill(store: Store): Promise<void> {
	const { db } = store;
	const insert = (table: string, columns: string, values: string, rows = ROWS) =>
		sql
			.raw(
				`insert into ${table} (${columns})
				with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
				select ${values} from n`,
			)
			.execute(db);
	const programme = `case when i % 2 = 0 then ${LARGE.id} else 2 + i % ${PROGRAMMES - 1} end`;
	await insert(
		"programmes",
		"id, public_id, name, currency, commission_rate, fee_rate, approval_days, parks_pixels, parked_days, created_at_ms",
		"i, 'prg' || i, 'Shop', 'EUR', '1', '1', 30, 1, 30, 0",
		PROGRAMMES,
	);
	await insert(
		"conversions",
		`id, public_id, programme_id, order_id, event_type, status, basket_value, commission, network_fee, currency,
			test, source, occurred_at_ms, created_at_ms, updated_at_ms`,
		`i, 'cnv' || substr('00000000' || i, length('00000000' || i) - 7, 8),
			${programme}, 'order ' || i, case when i % 50 = 0 then 'LEAD' else 'SALE' end,
			case when i % 100 = 1 then 'RECORDED' when i % 100 = 2 then 'PARKED' when i % 100 = 3 then 'REJECTED'
				when i % 10000 = 4 then 'REVERSED' else 'APPROVED' end, '100.00', '7.50', '2.00', 'EUR',
			case when i % 1000 = 0 then 1 else 0 end, 'postback', 0, ${START_MS} + i, 0`,
	);
	await insert(
		"people",
		"id, public_id, email, role, created_at_ms",
		"i, 'usr' || i, 'p' || i, 'owner', 0",
		5_000,
	);
	await insert(
		"moves",
		"conversion_id, move, to_status, at_ms, person_id",
		"i, 'record', 'RECORDED', 0, i % 5000",
	);
	await insert("events", "id, conversion_id, name, body", "i, i, 'conversion.recorded', '{}'");
	await insert(
		"deliveries",
		"id, public_id, programme_id, state, run, attempts, created_at_ms",
		`i, 'dlv' || i, ${programme}, 'delivered', 1, 1, 0`,
	);
	await insert(
		"bulk_jobs",
		"public_id, programme_id, person_id, decided_by, source, state, row_count, done_rows, claim_until_ms, created_at_ms",
		`'job' || i, ${programme}, i % 5000, 'shop', 'file', case when i % 1000 = 0 then 'applying' else 'done' end, 1, 1, ${START_MS} + i % 3 - 1, ${START_MS} + i`,
		20_000,
	);
	await insert(
		"bulk_rows",
		"job_id, seq, line, named_conversion, order_id, event_type, decision, reason, verdict, conversion",
		"i % 600, i, i, '', 'order', 'SALE', 'approve', '', 'change', 'cnv' || i / 1200",
	);
	await analyseAsInService(store);
}
