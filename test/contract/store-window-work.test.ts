// Tests how conversions are moved at the end of their window on PostgreSQL. This is fast whatever the
// planner's statistics say, and several workers share the work. Statistics from a time when a status was rare
// may lead to a plan that suits a few rows and takes minutes for many.

import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { approveDue, expireParked } from "#core/conversions/end-windows.ts";
import type { Status } from "#core/domain/conversion.ts";
import type { Db, Store } from "#core/store/store.ts";
import { CHANGES } from "../../src/modules.ts";
import { createRandom } from "../../src/outside/random.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { plansOf } from "../support/query-plan.ts";
import { addProgramme, newConversion } from "../support/rows.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { createMigratedDatabase } from "../support/test-database.ts";

const FINISHED_ROWS = 5_000;
const OPEN_ROWS = 15_000;
/** Number of conversions in a batch. */
const BATCH_ROWS = 500;
/**
 * Maximum duration of a batch. Workload W11 allows 100 ms with a million open conversions. The limit here is
 * larger because machines that run tests are busy, and a bad plan took minutes.
 */
const BATCH_LIMIT_MS = 3_000;

/** States of the statistics. The test uses them one after the other over the same rows. */
const STATISTICS = [
	["wrong", null],
	["missing", sql`delete from pg_statistic where starelid = 'conversions'::regclass`],
	["fresh", sql`analyze conversions`],
] as const;

const WINDOWS = [
	["RECORDED", "APPROVED", approveDue],
	["PARKED", "EXPIRED", expireParked],
] as const;

describe("ending the windows of conversions on PostgreSQL", () => {
	let database: TestDatabase;
	let store: Store;

	before(async () => {
		database = await createMigratedDatabase("PostgreSQL");
		store = database.open();
		// Autovacuum is turned off, so that only the test updates the planner's statistics.
		await sql`alter table conversions set (autovacuum_enabled = false)`.execute(store.db);
	});
	after(() => database.remove());

	/** Fills the table. The statistics that it leaves count only five open conversions. */
	async function fill(status: Status): Promise<void> {
		const { db } = store;
		await sql`truncate conversions, moves, events, queue`.execute(db);
		const { id } = await addProgramme(store);
		await copyConversions(db, id, "REJECTED", FINISHED_ROWS);
		await copyConversions(db, id, status, 5);
		await sql`analyze conversions`.execute(db);
		await copyConversions(db, id, status, OPEN_ROWS);
	}

	for (const [status, ended, endWindows] of WINDOWS) {
		for (const [statistics, prepare] of STATISTICS) {
			test(`the windows of a batch of ${status} conversions are ended in time with ${statistics} statistics`, async () => {
				await (prepare === null ? fill(status) : prepare.execute(store.db));
				const plans = await store.transact((trx) =>
					plansOf("PostgreSQL", trx, (db) => endOneBatch(endWindows, within(store, db))),
				);
				const ofConversions = plans.filter(({ lines }) => /\bon conversions\b/.test(lines.join("\n")));
				ok(
					ofConversions.length >= 3,
					"one query finds whether any window has ended, one reads them, and one changes them",
				);
				for (const { walks, lines } of ofConversions) {
					const text = lines.join("\n");
					equal(walks.includes("conversions"), false, text);
					// A sort would mean that the statement reads every open row to find five hundred.
					equal(/\bSort\b/.test(text), false, text);
				}
				const startedAt = performance.now();
				equal(await endOneBatch(endWindows, store), BATCH_ROWS);
				const tookMs = performance.now() - startedAt;
				ok(tookMs < BATCH_LIMIT_MS, `a batch took ${tookMs} ms`);
			});
		}

		test(`three workers share the ${status} conversions, and no conversion is moved twice`, async () => {
			await sql`truncate moves`.execute(store.db);
			const cutoff = sql<number>`(select id from conversions where status = ${status} order by id offset 9000 limit 1)`;
			await sql`delete from conversions where id >= ${cutoff}`.execute(store.db);
			const workers = [store, database.open(), database.open()];
			const done = await Promise.all(workers.map((worker) => endWindows(depsOf(worker), () => false)));
			// A worker ends when others have locked all remaining rows, so a few may be left for the next run.
			const rest = await endWindows(depsOf(store), () => false);
			equal(
				done.reduce((sum, count) => sum + count, rest),
				9_000,
			);
			for (const count of done) ok(count >= 1_500, `the parts are ${done.join(", ")}`);
			const moves = await store.db
				.selectFrom("moves")
				.select(["to_status", (eb) => eb.fn.countAll<number>().as("moves")])
				.select((eb) => eb.fn.count<number>("conversion_id").distinct().as("conversions"))
				.groupBy("to_status")
				.execute();
			deepEqual(moves, [{ to_status: ended, moves: 9_000, conversions: 9_000 }]);
		});
	}
});

function depsOf(store: Store) {
	return { store, clock: createClock(), random: createRandom(), changes: CHANGES };
}

/** Returns a store that does everything in the one transaction `db`. */
function within(store: Store, db: Db): Store {
	return {
		...store,
		db,
		transact: (work) => work(db),
		async lookAlongIndexes(look) {
			await store.forceIndexes(db);
			return look(db);
		},
	};
}

async function endOneBatch(endWindows: typeof approveDue, store: Store): Promise<number> {
	let asked = 0;
	return endWindows(depsOf(store), () => asked++ > 0);
}

/** Inserts many conversions in one statement, each with its own order id. */
async function copyConversions(db: Db, programmeId: number, status: Status, rows: number): Promise<void> {
	const isOpen = status === "RECORDED" || status === "PARKED";
	const {
		public_id: _,
		order_id: __,
		window_ends_at_ms: ___,
		...same
	} = newConversion(programmeId, { status });
	const columns = Object.keys(same);
	await sql`insert into conversions (public_id, order_id, window_ends_at_ms, ${sql.join(columns.map((name) => sql.ref(name)))})
		select ${status} || ${rows}::integer || '-' || n, ${status} || ${rows}::integer || '-' || n,
			${isOpen ? sql`${START_MS}::bigint - (n * 1009) % 86400000` : sql`null`}, ${sql.join(Object.values(same))}
		from generate_series(1, ${rows}::integer) n`.execute(db);
}
