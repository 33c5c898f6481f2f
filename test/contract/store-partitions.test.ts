// What 1.0.0 kept in partitions by time, on PostgreSQL: it comes through with every row, and whatever comes in has a place
// without anybody making one.

import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { sql } from "kysely";
import { DAY_MS, HOUR_MS } from "../../src/domain/time.ts";
import { listInboundCalls } from "../../src/store/queries/inbound-calls.ts";
import { pruneDeliveries, pruneLog } from "../../src/store/queries/prune.ts";
import { MIGRATIONS } from "../../src/store/schema/migrations.ts";
import type { Store } from "../../src/store/store.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { addDelivery, addProgramme } from "../support/rows.ts";
import { createTestDatabase } from "../support/test-database.ts";

const TABLES = ["attempts", "inbound_calls", "nonces"] as const;
const never = () => false;

describe("tables that were in partitions (PostgreSQL)", () => {
	test("a new database has plain ones, with the names that their indexes were given", async (t) => {
		const { store } = await open(t);
		await store.migrate(START_MS);
		deepEqual(await shapes(store), { attempts: "plain", inbound_calls: "plain", nonces: "plain" });
		const { rows } = await sql<{ name: string }>`select indexname as name from pg_indexes
			where tablename in ('attempts', 'inbound_calls', 'nonces') order by 1`.execute(store.db);
		deepEqual(
			rows.map(({ name }) => name),
			[
				"attempts_pkey",
				"inbound_calls_by_order",
				"inbound_calls_by_programme",
				"inbound_calls_pkey",
				"nonces_by_expiry",
				"nonces_pkey",
			],
		);
	});

	test("those of 1.0.0 keep every row, take every row, and are emptied by retention", async (t) => {
		const store = await openAsOldRelease(t);
		const clock = createClock();
		const programme = await addProgramme(store);
		const old = START_MS - 30 * DAY_MS;
		const delivery = await addDelivery(store, programme);
		await sql`update deliveries set state = 'delivered', created_at_ms = ${old}, finished_at_ms = ${old}
			where id = ${delivery}`.execute(store.db);
		await sql`insert into attempts (delivery_id, seq, programme_id, run, result, started_at_ms)
			values (${delivery}, 1, ${programme.id}, 1, 'answered', ${old})`.execute(store.db);
		await addCalls(store, [old, START_MS]);
		const nonce = { programme_id: programme.id, nonce: "n", expires_at_ms: START_MS };
		const spend = (expires_at_ms: number) =>
			store.transact(
				async (trx) => (await store.writes.spendNonces(trx, [{ ...nonce, expires_at_ms }])).size > 0,
			);
		equal(await spend(START_MS - 1), true);

		await store.migrate(START_MS);
		deepEqual(await shapes(store), {
			attempts: "in partitions",
			inbound_calls: "in partitions",
			nonces: "plain",
		});
		equal(await spend(START_MS + 1), false, "spent before the upgrade");
		// Of now, and of a time for which nobody has made a partition.
		await addCalls(store, [START_MS + 1, START_MS + 400 * DAY_MS]);
		deepEqual(await readCalls(store), [START_MS + 400 * DAY_MS, START_MS + 1, START_MS, old]);

		equal(await pruneDeliveries(store, clock, START_MS, never), 1);
		equal(await pruneLog("inbound_calls", store, clock, START_MS + 1, never), 2);
		equal(await count(store, "attempts"), 0);
		equal(await pruneLog("inbound_calls", store, clock, START_MS + DAY_MS, never), 1);
		deepEqual(await readCalls(store), [START_MS + 400 * DAY_MS], "what was in the default partition");
		await addCalls(store, [START_MS + 400 * DAY_MS + 1]);
		equal((await readCalls(store)).length, 2, "numbers go on");
	});

	test("of copies of a request at once one gets through", async (t) => {
		const { store, rival } = await open(t);
		await store.migrate(START_MS);
		const spent = await Promise.all(
			Array.from({ length: 12 }, (_, n) =>
				(n % 2 === 0 ? store : rival).transact((trx) =>
					store.writes.spendNonces(trx, [{ programme_id: 1, nonce: "raced", expires_at_ms: START_MS }]),
				),
			),
		);
		equal(spent.filter(({ size }) => size > 0).length, 1);
	});
});

async function open(t: TestContext) {
	const database = await createTestDatabase("PostgreSQL");
	t.after(() => database.remove());
	return { store: database.open(), rival: database.open() };
}

/** With the partitions that it would have made by now: a few of the past, and one of the time to come. */
async function openAsOldRelease(t: TestContext) {
	const { store } = await open(t);
	await store.migrate(START_MS, { migrations: MIGRATIONS.slice(0, 1) });
	const { rows } = await sql`select 1 from pg_inherits where inhparent = to_regclass('attempts')`.execute(
		store.db,
	);
	ok(rows.length > 0, "the first schema has partitions");
	for (const table of TABLES) {
		const widthMs = table === "nonces" ? HOUR_MS : 14 * DAY_MS;
		for (let n = -4; n <= 1; n++) {
			const name = `${table}_part_${n + 4}`;
			const fromMs = START_MS + n * widthMs;
			await sql.raw(`create table ${name} (like ${table} including all)`).execute(store.db);
			await sql
				.raw(
					`alter table ${table} attach partition ${name} for values from (${fromMs}) to (${fromMs + widthMs})`,
				)
				.execute(store.db);
		}
	}
	return store;
}

async function shapes({ db }: Store): Promise<Record<string, string>> {
	const { rows } = await sql<{ name: string; kind: string }>`
		select relname as name, relkind::text as kind from pg_class
		where relname in ('attempts', 'inbound_calls', 'nonces') order by 1`.execute(db);
	return Object.fromEntries(rows.map(({ name, kind }) => [name, kind === "p" ? "in partitions" : "plain"]));
}

async function addCalls(store: Store, times: readonly number[]): Promise<void> {
	const call = { kind: "api", method: "POST", target: "/", outcome: "RECORDED", http_status: 201 } as const;
	await store.writes.insertInboundCalls(
		store.db,
		times.map((at_ms) => ({ ...call, programme_id: 1, at_ms })),
	);
}

/** The newest first, page by page. */
async function readCalls({ db }: Store): Promise<number[]> {
	const read: number[] = [];
	let page = await listInboundCalls(db, { programmeId: 1, limit: 3 });
	for (;;) {
		read.push(...page.rows.map(({ atMs }) => atMs));
		if (page.next === null) return read;
		page = await listInboundCalls(db, { programmeId: 1, limit: 3, after: page.next });
	}
}

async function count({ db }: Store, table: string): Promise<number> {
	const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(db);
	return Number(rows[0]?.n);
}
