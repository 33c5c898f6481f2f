import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Kysely, sql } from "kysely";
import { START_MS } from "../../../../test/support/clock.ts";
import { newProgramme } from "../../../../test/support/rows.ts";
import { makeFolder } from "../../../../test/support/run-folder.ts";
import { createMigratedSqlite } from "../../../../test/support/sqlite-database.ts";
import { realClock } from "../../../outside/clock.ts";
import { insertProgramme } from "../queries/programmes.ts";
import { isDatabaseUnavailable } from "../unavailable.ts";
import { ANSWERS_PER_ROUND, ReaderThread } from "./reader.ts";
import { openSqlite } from "./store.ts";

const SQLITE_ERROR = 1;
const SQLITE_READONLY = 8;

test("the reader sees every commit, and nothing of a transaction that has not ended", async (t) => {
	const { store } = await open(t);
	const countProgrammes = async () =>
		(await store.reader.selectFrom("programmes").select("id").execute()).length;
	assert.equal(await countProgrammes(), 0);
	for (let programmes = 1; programmes <= 20; programmes++) {
		await store.transact(async (trx) => {
			await insertProgramme(trx, newProgramme());
			assert.equal(await countProgrammes(), programmes - 1);
		});
		assert.equal(await countProgrammes(), programmes);
	}
});

test("the reader returns the same rows as the store's own connection", async (t) => {
	const { store } = await open(t);
	await store.transact((trx) => insertProgramme(trx, newProgramme()));
	const read = (db: Kysely<never>) =>
		sql`select *, 1.5 as real, x'0a0b' as bytes, null as missing, 'text' as text from programmes`.execute(db);
	assert.deepEqual(await read(store.reader as never), await read(store.db as never));
});

test("an error keeps its code on the way from the thread", async (t) => {
	const { store } = await open(t);
	await assert.rejects(sql`select * from nowhere`.execute(store.reader), {
		message: "no such table: nowhere",
		code: "ERR_SQLITE_ERROR",
		errcode: SQLITE_ERROR,
	});
});

test("the reader cannot write and has no transactions", async (t) => {
	const { store } = await open(t);
	await assert.rejects(sql`delete from programmes`.execute(store.reader), { errcode: SQLITE_READONLY });
	await assert.rejects(
		store.reader.transaction().execute(async () => undefined),
		/has no transactions/,
	);
});

test("a long read leaves the event loop free", async (t) => {
	const { store } = await open(t);
	let isReading = true;
	const reading = sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000)
		select count(*) from n`.execute(store.reader);
	const read = reading.finally(() => {
		isReading = false;
	});
	let rounds = 0;
	for (; isReading; rounds++) await realClock.yieldLoop();
	await read;
	assert.ok(rounds > 100, `the event loop went round ${rounds} times`);
});

test("answers that arrive together are passed on a few in each round of the event loop", async (t) => {
	const { store, location } = await open(t);
	await store.reader.selectFrom("programmes").select("id").execute();
	let rounds = 0;
	const clock = {
		async yieldLoop() {
			rounds++;
			await realClock.yieldLoop();
		},
	};
	const thread = new ReaderThread(location, clock);
	const reads = Array.from({ length: 5 * ANSWERS_PER_ROUND }, () => thread.read("select 1", []));
	const passedIn = new Map<number, number>();
	await Promise.all(
		reads.map((read) => read.then(() => passedIn.set(rounds, (passedIn.get(rounds) ?? 0) + 1))),
	);
	await thread.close();
	assert.ok(Math.max(...passedIn.values()) <= ANSWERS_PER_ROUND, JSON.stringify([...passedIn]));
});

test("a read whose thread ends fails as unavailable, and the next read starts another thread", async (t) => {
	const { location } = await open(t);
	const path = join(makeFolder("reader"), "later.db");
	const thread = new ReaderThread(path, realClock);
	// The thread ends at once, because there is no file to open.
	for (const failing of [thread.read("select 1", []), thread.read("select 2", [])]) {
		const error = await failing.then(
			() => null,
			(reason: unknown) => reason,
		);
		assert.ok(isDatabaseUnavailable(error), String(error));
	}
	copyFileSync(location, path);
	assert.deepEqual(await thread.read("select 3 as three", []), [{ three: 3 }]);
	await thread.close();
});

test("closing lets reads finish that were sent, and refuses later ones", async (t) => {
	const { store, location } = await open(t);
	const thread = new ReaderThread(location, realClock);
	const reads = Array.from({ length: 10 }, (_, number) => thread.read("select ? as number", [number]));
	await thread.close();
	assert.deepEqual(
		await Promise.all(reads),
		reads.map((_, number) => [{ number }]),
	);
	await assert.rejects(thread.read("select 1", []), /closed/);
	await store.close();
	await assert.rejects(sql`select 1`.execute(store.reader), /closed/);
});

test("a database in memory is read over its only connection", async (t) => {
	const store = openSqlite(":memory:", realClock);
	t.after(() => store.close());
	await store.migrate(START_MS);
	assert.equal(store.reader, store.db);
});

async function open(t: TestContext) {
	const database = await createMigratedSqlite();
	t.after(database.remove);
	return { store: database.open(), location: database.location };
}
