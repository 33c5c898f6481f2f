// The queries that run all day use their indexes on both databases: with tables large enough that the planner has
// a choice, and with what it knows in service.

import { deepEqual, equal, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { sql } from "kysely";
import { hasWindowEnded, listWindowEnded } from "../../src/store/conversions.ts";
import { failedSince } from "../../src/store/deliveries.ts";
import { findNoticesToMail } from "../../src/store/notices.ts";
import { createSqliteQueue } from "../../src/store/sqlite-queue.ts";
import type { Db, Store } from "../../src/store/store.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase, type SuiteDatabase } from "../support/databases.ts";
import { analyseAsInService, plansOf, RememberingDatabase } from "../support/query-plan.ts";

const ROWS = 40_000;
const PROGRAMMES = 200;
/** Has half of all rows; the others share the rest. */
const LARGE_PROGRAMME = 1;
const SMALL_PROGRAMME = 7;
const WISHES = Array.from({ length: 40 }, (_, n) => ({ programmeId: n + 1, limit: 8 }));

eachDatabase("indexes", (database) => {
	before(() => fill(database.store));

	test("claiming touches only the rows it takes, for one programme and for forty", async () => {
		const { kind, store } = database;
		if (kind === "SQLite") return checkSqliteQueue(database);
		for (const wishes of [WISHES.slice(0, 1), WISHES]) {
			await rolledBack(store, async (trx) => {
				const [claim] = await plansOf(kind, trx, (db) => store.queue.claim(db, wishes, 1, START_MS));
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
			const due = new Map<number, number>();
			for (const row of await trx.selectFrom("queue").select(["id", "due_at_ms"]).execute()) {
				due.set(row.id, row.due_at_ms);
			}
			const { deliveries } = await store.queue.claim(trx, WISHES, 2, START_MS);
			for (const { programmeId } of WISHES) {
				const mine = deliveries.filter((delivery) => delivery.programmeId === programmeId);
				const times = mine.map(({ id }) => due.get(id) ?? 0);
				deepEqual(times, times.toSorted());
			}
		});
	});

	for (const from of ["RECORDED", "PARKED"] as const) {
		test(`windows of ${from} conversions that have ended are found without reading the others`, async () => {
			await checkPlan("conversions_by_window", (db) => listWindowEnded(db, from, START_MS, 100));
			await checkPlan("conversions_by_window", (db) => hasWindowEnded(db, from, START_MS));
		});
	}

	test("failed deliveries are found without reading the delivered ones", async () => {
		for (const programmeId of [LARGE_PROGRAMME, SMALL_PROGRAMME]) {
			await checkPlan("deliveries_failed", (db) => failedSince(db, programmeId, START_MS - 1_000, 100));
		}
	});

	test("notices to be mailed are found without reading the others", async () => {
		await checkPlan("notices_to_mail", (db) => findNoticesToMail(db, START_MS - 1));
	});

	/** The first query of `run` walks no table and uses the index. */
	async function checkPlan(index: string, run: (db: Db) => Promise<unknown>): Promise<void> {
		const { kind, store } = database;
		await rolledBack(store, async (trx) => {
			const [plan] = await plansOf(kind, trx, run);
			deepEqual(plan?.walks, []);
			ok(plan?.indexes.includes(index), `uses ${plan?.indexes.join(", ")} instead of ${index}`);
		});
	}
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

/** As in a service that has run for a while: most is done, a hundredth is due, failed or waiting. */
async function fill(store: Store): Promise<void> {
	const { db } = store;
	const insert = (table: string, columns: string, values: string, rows = ROWS) =>
		sql
			.raw(
				`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
				insert into ${table} (${columns}) select ${values} from n`,
			)
			.execute(db);
	const programme = `case when i % 2 = 0 then ${LARGE_PROGRAMME} else 2 + i % ${PROGRAMMES - 1} end`;
	const scattered = `${START_MS} + (i * 1009) % 100000 - 50000`;
	await insert(
		"programmes",
		"id, public_id, name, currency, commission_rate, fee_rate, approval_days, parks_pixels, parked_days, created_at_ms",
		"i, 'prg' || i, 'Shop', 'EUR', '1', '1', 30, 1, 30, 0",
		PROGRAMMES,
	);
	await insert(
		"conversions",
		`id, public_id, programme_id, order_id, event_type, status, basket_value, commission, network_fee, currency,
			test, source, occurred_at_ms, created_at_ms, window_ends_at_ms, updated_at_ms`,
		`i, 'cnv' || i, ${programme}, 'order ' || i, 'SALE',
			case when i % 100 = 1 then 'RECORDED' when i % 100 = 2 then 'PARKED' when i % 100 = 3 then 'REJECTED'
				else 'APPROVED' end, '100.00', '7.50', '2.00', 'EUR', 0, 'postback', 0, 0,
			case when i % 100 in (1, 2) then ${scattered} end, 0`,
	);
	await insert("events", "id, conversion_id, name, body", "i, i, 'conversion.recorded', '{\"a body\":true}'");
	await insert(
		"deliveries",
		"id, public_id, programme_id, state, run, attempts, created_at_ms, finished_at_ms",
		`i, 'dlv' || i, ${programme}, case when i % 100 < 2 then 'failed' else 'delivered' end, 1, 1, 0, ${scattered}`,
	);
	await insert(
		"queue",
		"id, programme_id, due_at_ms, endpoint_epoch, run, counted, seq",
		`i, ${programme}, ${scattered}, 0, 1, 0, 0`,
	);
	await insert(
		"notices",
		`public_id, programme_id, kind, opened_at_ms, updated_at_ms, ended_at_ms, failures, mailed_failures, mail_due_at_ms`,
		`'ntc' || i, ${programme}, 'callbacks_failing', 0, 0, 1, 1, 1, case when i % 100 = 0 then ${scattered} end`,
	);
	await analyseAsInService(store);
}
