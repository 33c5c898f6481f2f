// What one process knows of its chores, every other learns: a web process tells staff of a worker's.

import { deepEqual, equal, ok } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { ChoreName, ChoreRecord } from "../../src/domain/chore.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";
import { findChoreWarnings } from "../../src/domain/warning.ts";
import { findOldestPastRetention } from "../../src/store/queries/backlogs.ts";
import { forgetChores, listChoreRecords, saveChoreRecords } from "../../src/store/queries/chores.ts";
import type { Store } from "../../src/store/store.ts";
import { createChoreBook } from "../../src/watch/chore-book.ts";
import { WATCH_INTERVAL_MS, watchChores } from "../../src/watch/chore-watch.ts";
import { startChore, startTelling } from "../../src/watch/chores.ts";
import { MAIL_OFF } from "../support/app-deps.ts";
import { createClock, type MovableClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { addDelivery, addProgramme } from "../support/rows.ts";
import { untilOnClock } from "../support/until.ts";

eachDatabase("records of chores", (database) => {
	let clock: MovableClock;

	beforeEach(async () => {
		clock = createClock();
		await database.store.db.deleteFrom("chores").execute();
	});

	function openProcess(store: Store) {
		const log = createLog();
		const book = createChoreBook(clock);
		const watch = watchChores({ store, clock, log, book });
		const titles = () => findChoreWarnings(book.known, clock.nowMs()).map(({ title }) => title);
		return { clock, log, book, watch, titles };
	}

	async function untilTold(web: { titles(): string[] }, titles: readonly string[]): Promise<void> {
		const isTold = () => JSON.stringify(web.titles()) === JSON.stringify(titles);
		await untilOnClock(clock, `staff read: ${titles.join(", ")}`, isTold, WATCH_INTERVAL_MS / 4);
	}

	test("staff hear in another process of a chore that fails, and no longer once it is done", async () => {
		const worker = openProcess(database.store);
		const web = openProcess(database.rival);
		let isFailing = true;
		const chore = startChore(worker, "approvals", async () => {
			if (isFailing) throw new Error("no room");
		});
		await untilTold(web, ["Conversions that passed their approval window are not being approved"]);
		ok(clock.nowMs() - START_MS >= 2 * MINUTE_MS, "not before its time");
		const [row] = await database.store.db.selectFrom("chores").selectAll().execute();
		deepEqual([row?.name, row?.error, row?.last_success_ms], ["approvals", "no room.", null]);
		const hasLogged = (lines: number) =>
			untilOnClock(clock, "it is in the log", () => web.log.lines.length === lines, WATCH_INTERVAL_MS / 4);
		await hasLogged(1);
		isFailing = false;
		await untilTold(web, []);
		await hasLogged(2);
		await Promise.all([chore.stop(), worker.watch.stop(), web.watch.stop()]);
		equal(clock.waitingTimers, 0);
		const said = web.log.lines.map(({ level, message }) => `${level} ${message}`);
		deepEqual(said, ["error a chore is not getting done", "info the chore is getting done again"]);
	});

	test("a chore that hangs counts as not done, and so does one whose process is gone", async () => {
		const worker = openProcess(database.store);
		const web = openProcess(database.rival);
		const gate = Promise.withResolvers<void>();
		let runs = 0;
		const hanging = startChore(worker, "expiries", async () => {
			if (runs++ > 2) await gate.promise;
		});
		await untilTold(web, ["Parked conversions that nobody confirmed are not expiring"]);
		gate.resolve();
		await untilTold(web, []);
		await Promise.all([hanging.stop(), worker.watch.stop()]);
		await untilTold(web, ["Parked conversions that nobody confirmed are not expiring"]);
		await web.watch.stop();
	});

	test("records come back as they were last saved, and only the named ones are forgotten", async () => {
		const { db } = database.store;
		const saved = (name: ChoreName, n: number): ChoreRecord => ({
			name,
			sinceMs: n,
			lastSuccessMs: n + 1,
			workingAtMs: n + 2,
			lastFailureMs: n + 3,
			failures: n + 4,
			error: `error ${n}`,
		});
		await saveChoreRecords(db, [saved("nonces", 10), saved("approvals", 20)]);
		const last = [saved("approvals", 30), saved("nonces", 40)];
		await saveChoreRecords(db, last.toReversed());
		const unknown = { name: "of_a_newer_program", since_ms: 0, failures: 0 };
		await db.insertInto("chores").values(unknown).execute();
		deepEqual(await listChoreRecords(db), last);
		await forgetChores(db, []);
		await forgetChores(db, ["approvals"]);
		deepEqual(await listChoreRecords(db), last.slice(1));
		equal(
			(await db.selectFrom("chores").selectAll().execute()).length,
			2,
			"one that is not ours is left alone",
		);
	});

	test("two processes that do the same chore keep one record, and the success of one is enough", async () => {
		const good = openProcess(database.store);
		const bad = openProcess(database.rival);
		const chores = [
			startChore(good, "notice_mails", async () => undefined),
			startChore(bad, "notice_mails", () => Promise.reject(new Error("connection refused"))),
		];
		for (let minutes = 0; minutes < 10; minutes++) await clock.moveBy(MINUTE_MS);
		// The clock has run ahead of a real database: the next look catches up.
		const isFine = () => good.book.known[0]?.error === "connection refused." && good.titles().length === 0;
		await untilOnClock(clock, "both have been heard", isFine, WATCH_INTERVAL_MS / 4);
		equal((await database.store.db.selectFrom("chores").selectAll().execute()).length, 1);
		await Promise.all([...chores, good.watch, bad.watch].map((one) => one.stop()));
	});

	test("a chore that is off by the settings is forgotten, no other is, and staff are not told of it", async () => {
		const { store } = database;
		const row = { name: "change_mails" satisfies ChoreName, since_ms: 0, failures: 3, error: "no." };
		const other = { name: "retention" satisfies ChoreName, since_ms: START_MS, failures: 0 };
		await store.db.insertInto("chores").values([row, other]).execute();
		const process = openProcess(store);
		equal(startTelling({ ...process, store, mails: MAIL_OFF, publicUrl: "" }), null);
		const listNames = async () =>
			(await store.db.selectFrom("chores").select("name").execute()).map(({ name }) => name);
		const isForgotten = async () => !(await listNames()).includes(row.name);
		await untilOnClock(clock, "the record is gone", isForgotten, WATCH_INTERVAL_MS);
		deepEqual(await listNames(), [other.name]);
		deepEqual(process.titles(), []);
		// Another process may be set to do it: its record is not forgotten again.
		await store.db
			.insertInto("chores")
			.values({ ...row, since_ms: clock.nowMs(), failures: 0, error: null })
			.execute();
		const isKnown = () => process.book.known.some(({ name }) => name === row.name);
		await untilOnClock(clock, "its record has been read", isKnown, WATCH_INTERVAL_MS);
		await process.watch.stop();
		deepEqual((await listNames()).toSorted(), [row.name, other.name]);
	});

	test("records that cannot be shared stop no chore, and what waits is looked at all the same", async () => {
		const { store } = database;
		const process = openProcess({ ...store, db: store.db.withSchema("gone") });
		let runs = 0;
		const chore = startChore(
			process,
			"approvals",
			async () => runs++,
			async () => START_MS - 5,
		);
		for (let minutes = 0; minutes < 3; minutes++) await clock.moveBy(MINUTE_MS);
		await untilOnClock(clock, "the watch has tried", () => process.log.lines.length > 1, WATCH_INTERVAL_MS);
		ok(runs > 10);
		equal(process.book.reports[0]?.waitingSinceMs, START_MS - 5);
		equal(process.log.lines[0]?.message, "the records of chores could not be shared");
		await Promise.all([chore.stop(), process.watch.stop()]);
	});

	test("what is past retention and still here counts from when it should have gone", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme, START_MS);
		const find = (nowMs: number) => findOldestPastRetention(store.db, MINUTE_MS, nowMs);
		equal(await find(START_MS + 5 * MINUTE_MS), null, "what is pending stays");
		const finished_at_ms = START_MS + 100;
		await store.db
			.updateTable("deliveries")
			.set({ state: "delivered", finished_at_ms })
			.where("id", "=", id)
			.execute();
		equal(await find(finished_at_ms + MINUTE_MS), null);
		equal(await find(finished_at_ms + MINUTE_MS + 1), finished_at_ms + MINUTE_MS);
	});
});
