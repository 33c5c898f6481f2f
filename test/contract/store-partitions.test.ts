// Large tables in partitions by time, on PostgreSQL: made ahead, dropped when all in them is old, and never in the way of
// what comes in.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { sql } from "kysely";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";
import { insertInboundCalls, listInboundCalls } from "../../src/store/inbound-calls.ts";
import { spendNonces } from "../../src/store/keys.ts";
import { listPartitions } from "../../src/store/postgres-partitions.ts";
import { pruneAttempts, pruneInboundCalls, pruneNonces } from "../../src/store/prune.ts";
import type { Db, PartitionedTable, Partitions, Store } from "../../src/store/store.ts";
import { createClock, START_MS } from "../support/clock.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { createMigratedDatabase } from "../support/test-database.ts";

const TABLES = ["attempts", "inbound_calls", "nonces"] as const;
const KEPT_DAYS = 180;
const never = () => false;

describe("partitions (PostgreSQL)", () => {
	let database: TestDatabase;
	let store: Store;
	let rival: Store;
	before(async () => {
		database = await createMigratedDatabase("PostgreSQL");
		[store, rival] = [database.open(), database.open()];
	});
	beforeEach(async () => {
		for (const table of TABLES) {
			for (const { name } of await listPartitions(store.db, table)) {
				await sql.raw(`drop table ${name}`).execute(store.db);
			}
			await store.db.deleteFrom(`${table}_other`).execute();
		}
	});
	after(() => database.remove());

	test("there is one for now and for the time to come, however many processes make them at once", async () => {
		await Promise.all([store, rival, store, rival].map((each) => of(each).makeAhead(START_MS, KEPT_DAYS)));
		for (const table of TABLES) {
			const ranges = await listPartitions(store.db, table);
			ok(ranges.length >= 2, table);
			const [first] = ranges;
			ok(first !== undefined && first.fromMs <= START_MS && START_MS < first.toMs);
			for (const [index, range] of ranges.entries()) {
				if (index > 0) equal(range.fromMs, ranges[index - 1]?.toMs, "without a gap");
			}
			const aheadMs = (ranges.at(-1)?.toMs ?? 0) - START_MS;
			ok(aheadMs >= (table === "nonces" ? 3 * HOUR_MS : 7 * DAY_MS), `${table}: ${aheadMs}`);
		}
	});

	test("made again when nothing is missing, nobody waits for it", async () => {
		await of(store).makeAhead(START_MS, KEPT_DAYS);
		const before = await Promise.all(TABLES.map((table) => listPartitions(store.db, table)));
		await rival.transact(async (trx) => {
			await sql`lock table attempts, inbound_calls, nonces in access share mode`.execute(trx);
			await of(store).makeAhead(START_MS, KEPT_DAYS);
		});
		deepEqual(await Promise.all(TABLES.map((table) => listPartitions(store.db, table))), before);
	});

	test("rows find their partition, and what has none the default one", async () => {
		await of(store).makeAhead(START_MS, KEPT_DAYS);
		await addCalls([START_MS, START_MS - 400 * DAY_MS]);
		equal(await countRows("inbound_calls_other"), 1);
		equal(await countRows("inbound_calls"), 2);
	});

	test("a range of which the default partition has rows is left out, and the next ones are made", async () => {
		await addCalls([START_MS]);
		await of(store).makeAhead(START_MS, KEPT_DAYS);
		const ranges = await listPartitions(store.db, "inbound_calls");
		ok(ranges.length > 0 && ranges.every(({ fromMs }) => fromMs > START_MS));
		await addCalls([START_MS + 1, ranges[0]?.fromMs ?? 0]);
		equal(await countRows("inbound_calls_other"), 2);
	});

	test("only those go in which everything is too old, in every table", async () => {
		for (let day = 56; day >= 0; day -= 7) await of(store).makeAhead(START_MS - day * DAY_MS, KEPT_DAYS);
		const all = await listPartitions(store.db, "attempts");
		const [first, second] = all;
		ok(first !== undefined && second !== undefined);
		const limitMs = second.toMs;
		equal(await of(store).drop("attempts", first.toMs - 1), 0);
		equal(await of(store).drop("attempts", limitMs), 2);
		deepEqual(await listPartitions(store.db, "attempts"), all.slice(2));
		// Attempts stay for two days more: their deliveries may only just have ended.
		const third = all[2];
		ok(third !== undefined);
		await pruneAttempts(store, third.toMs + 2 * DAY_MS - 1);
		equal((await listPartitions(store.db, "attempts")).length, all.length - 2);
		await pruneAttempts(store, third.toMs + 2 * DAY_MS);
		equal((await listPartitions(store.db, "attempts")).length, all.length - 3);

		await pruneInboundCalls(store, createClock(), limitMs, never);
		deepEqual(await listPartitions(store.db, "inbound_calls"), all.slice(2).map(renamed));
		await of(store).makeAhead(START_MS - 2 * HOUR_MS, KEPT_DAYS);
		await pruneNonces(store, START_MS);
		const [oldest] = await listPartitions(store.db, "nonces");
		equal(oldest?.toMs, START_MS, "five minutes more, for clocks that are behind");
		await pruneNonces(store, START_MS + 5 * MINUTE_MS);
		equal((await listPartitions(store.db, "nonces"))[0]?.fromMs, START_MS);
	});

	test("calls that found no partition go one by one, and those in a partition stay until all of it is old", async () => {
		await of(store).makeAhead(START_MS, KEPT_DAYS);
		const [range] = await listPartitions(store.db, "inbound_calls");
		ok(range !== undefined);
		await addCalls([range.fromMs, range.fromMs - 1, range.fromMs - DAY_MS]);
		equal(await pruneInboundCalls(store, createClock(), range.fromMs + 1, never), 2);
		equal(await countRows("inbound_calls"), 1);
	});

	test("a table that somebody reads is waited for briefly, tried again, and left for the next time", async () => {
		await of(store).makeAhead(START_MS, KEPT_DAYS);
		const [{ toMs } = { toMs: 0 }] = await listPartitions(store.db, "attempts");
		await rival.transact(async (trx) => {
			await sql`select 1 from attempts`.execute(trx);
			await rejects(of(store).drop("attempts", toMs), { code: "55P03" });
			// Nobody was left waiting behind us.
			await sql`select 1 from attempts`.execute(store.db);
		});
		equal(await of(store).drop("attempts", toMs), 1);
	});

	test("a nonce is spent once, whichever partitions its timestamps lead to", async () => {
		await of(store).makeAhead(START_MS, KEPT_DAYS);
		const spend = (expiresAtMs: number, nonce = "n", programmeId = 1) =>
			store.transact((trx) => spendOne(trx, { programmeId, nonce, expiresAtMs }));
		// The hour begins at START_MS: the two lie in different partitions.
		equal(await spend(START_MS - 1), true);
		equal(await spend(START_MS + 1), false);
		equal(await spend(START_MS - 1), false);
		equal(await spend(START_MS + 1, "another"), true);
		equal(await spend(START_MS + 1, "n", 2), true);
		// In the default partition, for want of one.
		equal(await spend(START_MS + 90 * DAY_MS), true);
		equal(await spend(START_MS + 90 * DAY_MS + 1), false);
	});

	test("of copies of a request at once one gets through", async () => {
		await of(store).makeAhead(START_MS, KEPT_DAYS);
		const spent = await Promise.all(
			Array.from({ length: 12 }, (_, n) => {
				const { transact } = n % 2 === 0 ? store : rival;
				return transact((trx) => spendOne(trx, { programmeId: 1, nonce: "raced", expiresAtMs: START_MS }));
			}),
		);
		equal(spent.filter(Boolean).length, 1);
	});

	test("the log is read across partitions, the newest first and page by page", async () => {
		const times = Array.from({ length: 60 }, (_, n) => START_MS - (60 - n) * 3 * DAY_MS);
		for (const atMs of times) await of(store).makeAhead(atMs, KEPT_DAYS);
		await addCalls(times);
		ok((await listPartitions(store.db, "inbound_calls")).length >= 13);
		equal(await countRows("inbound_calls_other"), 0);
		const read: number[] = [];
		let page = await listInboundCalls(store.db, { programmeId: 1, limit: 7 });
		for (;;) {
			read.push(...page.rows.map(({ atMs }) => atMs));
			if (page.next === null) break;
			page = await listInboundCalls(store.db, { programmeId: 1, limit: 7, after: page.next });
		}
		deepEqual(read, times.toReversed());
	});

	async function addCalls(times: readonly number[]): Promise<void> {
		const call = { kind: "api", method: "POST", target: "/", outcome: "RECORDED", http_status: 201 } as const;
		await store.transact((trx) =>
			insertInboundCalls(
				trx,
				times.map((at_ms) => ({ ...call, programme_id: 1, at_ms })),
			),
		);
	}

	async function countRows(table: PartitionedTable | "inbound_calls_other"): Promise<number> {
		const { rows } = await sql<{ count: number }>`
			select count(*) as count from ${sql.table(table)}`.execute(store.db);
		return rows[0]?.count ?? 0;
	}
});

function of({ partitions }: Store): Partitions {
	if (partitions === null) throw new Error("PostgreSQL has partitions");
	return partitions;
}

function renamed({ name, ...range }: { name: string; fromMs: number; toMs: number }) {
	return { name: name.replace("attempts", "inbound_calls"), ...range };
}

interface OneNonce {
	programmeId: number;
	nonce: string;
	expiresAtMs: number;
}

async function spendOne(trx: Db, { programmeId, nonce, expiresAtMs }: OneNonce): Promise<boolean> {
	const spent = await spendNonces(trx, [{ programme_id: programmeId, nonce, expires_at_ms: expiresAtMs }]);
	return spent.size > 0;
}
