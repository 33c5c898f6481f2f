import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { newProgramme } from "../../../../test/support/rows.ts";
import { createMigratedSqlite } from "../../../../test/support/sqlite-database.ts";
import { realClock } from "../../../outside/clock.ts";
import type { Db } from "../store.ts";

/**
 * Number of rounds of the event loop that the test waits. The loop must go round between two tries of the driver, so
 * the write is retried several times meanwhile.
 */
const ROUNDS = 5;

for (const [what, isTransaction] of [
	["a transaction", true],
	["a write without a transaction", false],
] as const) {
	test(`${what} waits for another process's write lock without blocking the event loop`, async (t) => {
		const database = await createMigratedSqlite();
		t.after(database.remove);
		const store = database.open();
		using other = new DatabaseSync(database.location);
		other.exec("begin immediate");
		const insert = (db: Db) => db.insertInto("programmes").values(newProgramme()).execute();
		let isDone = false;
		const writing = (isTransaction ? store.transact((trx) => insert(trx)) : insert(store.db)).finally(() => {
			isDone = true;
		});
		for (let round = 0; round < ROUNDS; round++) await realClock.yieldLoop();
		assert.equal(isDone, false);
		other.exec("commit");
		await writing;
		assert.equal((await store.db.selectFrom("programmes").select("id").execute()).length, 1);
	});
}
