// Tests that a SQLite file that grew with stored rows shrinks again after retention has removed them.

import { equal, ok } from "node:assert/strict";
import { statSync } from "node:fs";
import { test } from "node:test";
import { sql } from "kysely";
import { giveBackSpace, pruneLog } from "#core/store/queries/prune.ts";
import { realClock } from "../../src/outside/clock.ts";
import { START_MS } from "../support/clock.ts";
import { createSqliteDatabase } from "../support/sqlite-database.ts";

const OLD_CALLS = 16_000;
const never = () => false;

test("after retention the file shrinks in steps that a stop can end, and all stored rows stay", async (t) => {
	const database = createSqliteDatabase();
	t.after(database.remove);
	const store = database.open();
	await store.migrate(START_MS);
	const call = {
		kind: "api",
		method: "POST",
		target: `/v1/conversions?${"x".repeat(400)}`,
		outcome: "RECORDED",
		http_status: 201,
	} as const;
	const calls = (count: number, at_ms: number) =>
		store.batch.write(store.db, { inboundCalls: Array.from({ length: count }, () => ({ ...call, at_ms })) });
	for (let made = 0; made < OLD_CALLS; made += 500) await calls(500, START_MS - 1);
	await calls(100, START_MS);
	// New rows are in the write-ahead log first, and the checkpoint moves them to the file.
	await sql`pragma wal_checkpoint(truncate)`.execute(store.db);
	const size = () => statSync(database.location).size;
	const grownTo = size();
	ok(grownTo > 3_000_000, `it has ${grownTo} bytes`);
	await pruneLog("inbound_calls", store, realClock, START_MS, never);
	equal(await store.giveBackSpace(), true, "there is more than one step");
	let asked = 0;
	await giveBackSpace(store, realClock, () => asked++ === 3);
	equal(asked, 4);
	ok(size() > grownTo / 2, "it was stopped before the end");
	await giveBackSpace(store, realClock, never);
	ok(size() < grownTo / 5, `of ${grownTo} bytes ${size()} are left`);
	equal(await store.giveBackSpace(), false);
	equal((await store.db.selectFrom("inbound_calls").select("id").execute()).length, 100);
});
