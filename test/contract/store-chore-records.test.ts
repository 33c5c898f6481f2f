import { NO_ENGINE } from "#core/domain/process.ts";
// Every process reads the records of all chores, so that a web process can warn staff about a chore of a
// worker.

import { deepEqual, equal, fail, match, ok } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { MINUTE_MS } from "#core/domain/time.ts";
import { listChoreRecords, NOTHING_READ, saveChore } from "#core/store/queries/system.ts";
import type { Store } from "#core/store/store.ts";
import { startChore } from "../../src/watch/chores.ts";
import { WATCH_INTERVAL_MS } from "../../src/watch/installation-watch.ts";
import { startLoop } from "../../src/watch/loop.ts";
import { makeInstallation } from "../support/app-deps.ts";
import { createClock, type MovableClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { untilOnClock } from "../support/until.ts";

const HOST = "ringback.example";
const WORKER = {
	instance: "0a1b2c3d",
	host: "one",
	role: "all",
	version: "1.0.0",
	started_at_ms: START_MS,
	...NO_ENGINE,
	mail_failed_at_ms: null,
	mail_error: null,
};

eachDatabase("records of chores", (database) => {
	let clock: MovableClock;

	beforeEach(async () => {
		clock = createClock();
		await database.store.db.deleteFrom("chores").execute();
	});

	/** Opens a process that checks every few seconds how the chores of all processes are doing. */
	function openProcess(store: Store) {
		const log = createLog();
		const processes = () => [{ ...WORKER, seen_at_ms: clock.nowMs() }];
		const readSystem = async () => ({
			...NOTHING_READ,
			processes: processes(),
			chores: await listChoreRecords(store.db),
		});
		const installation = makeInstallation({ clock, log, readSystem });
		const { look, warningsFor } = installation;
		const watch = startLoop({ clock, everyMs: WATCH_INTERVAL_MS, run: look, onFailure: fail });
		return { store, clock, log, watch, titles: () => warningsFor({ host: HOST }).map(({ title }) => title) };
	}

	async function untilTold(web: { titles(): string[] }, titles: readonly string[]): Promise<void> {
		const isTold = () => JSON.stringify(web.titles()) === JSON.stringify(titles);
		await untilOnClock(clock, `staff read: ${titles.join(", ")}`, isTold, WATCH_INTERVAL_MS / 4);
	}

	test("another process warns staff of a failing chore until the chore succeeds", async () => {
		const worker = openProcess(database.store);
		const web = openProcess(database.rival);
		let isFailing = true;
		const chore = startChore(worker, "approvals", async () => {
			if (isFailing) throw new Error("no room");
		});
		await untilTold(web, ["Conversions that passed their approval window are not being approved"]);
		ok(clock.nowMs() - START_MS >= 2 * MINUTE_MS, "the warning comes after two minutes");
		const [row] = await database.store.db.selectFrom("chores").selectAll().execute();
		deepEqual([row?.name, row?.error, row?.last_success_ms], ["approvals", "no room.", null]);
		const hasLogged = (lines: number) =>
			untilOnClock(
				clock,
				"the web process has logged the change",
				() => web.log.lines.length === lines,
				WATCH_INTERVAL_MS / 4,
			);
		await hasLogged(1);
		isFailing = false;
		await untilTold(web, []);
		await hasLogged(2);
		await Promise.all([chore.stop(), worker.watch.stop(), web.watch.stop()]);
		equal(clock.waitingTimers, 0);
		const said = web.log.lines.map(({ level, message }) => `${level} ${message}`);
		equal(said.length, 2);
		match(
			said[0] ?? "",
			/^warn Conversions that passed their approval window .* says: no room\. See the log/,
		);
		match(said[1] ?? "", /^info over: Conversions that passed/);
	});

	test("a chore that hangs, or whose process is gone, counts as not done", async () => {
		const worker = openProcess(database.store);
		const web = openProcess(database.rival);
		const gate = Promise.withResolvers<void>();
		let runs = 0;
		const hanging = startChore(worker, "expiries", async () => {
			if (runs++ > 2) await gate.promise;
		});
		await untilTold(web, ["Unconfirmed parked conversions are not expiring"]);
		gate.resolve();
		await untilTold(web, []);
		await Promise.all([hanging.stop(), worker.watch.stop()]);
		await untilTold(web, ["Unconfirmed parked conversions are not expiring"]);
		await web.watch.stop();
	});

	test("a success resets the failures of all processes, and the last error can still be read", async () => {
		const { db } = database.store;
		const record = { name: "nonces", since_ms: 1, last_success_ms: null, working_at_ms: null } as const;
		await saveChore(db, "nonces", "begun", 1);
		await saveChore(db, "nonces", { error: "one." }, 2);
		await saveChore(db, "nonces", { error: "two." }, 3);
		await saveChore(db, "nonces", "begun", 4);
		const failed = { ...record, last_failure_ms: 3, failures: 2, error: "two." };
		deepEqual(await listChoreRecords(db), [failed]);
		await saveChore(db, "nonces", "working", 5);
		await saveChore(db, "nonces", "done", 6);
		await saveChore(db, "jobs", { error: "three." }, 7);
		const unknown = { name: "of_a_newer_program", since_ms: 0, failures: 0 };
		await db.insertInto("chores").values(unknown).execute();
		deepEqual(await listChoreRecords(db), [
			{ ...record, name: "jobs", since_ms: 7, last_failure_ms: 7, failures: 1, error: "three." },
			{ ...failed, last_success_ms: 6, working_at_ms: 5, failures: 0 },
		]);
	});

	test("two processes with the same chore share one record, and the success of one suffices", async () => {
		const good = openProcess(database.store);
		const bad = openProcess(database.rival);
		const chores = [
			startChore(good, "notice_mails", async () => undefined),
			startChore(bad, "notice_mails", () => Promise.reject(new Error("connection refused"))),
		];
		for (let minutes = 0; minutes < 10; minutes++) await clock.moveBy(MINUTE_MS);
		const isFine = async () =>
			(await listChoreRecords(database.store.db))[0]?.error === "connection refused.";
		await untilOnClock(clock, "both have been heard", isFine, WATCH_INTERVAL_MS / 4);
		await untilTold(good, []);
		equal((await database.store.db.selectFrom("chores").selectAll().execute()).length, 1);
		await Promise.all([...chores, good.watch, bad.watch].map((one) => one.stop()));
	});

	test("a chore runs even if its record cannot be written", async () => {
		const { store } = database;
		const log = createLog();
		let runs = 0;
		const chore = startChore(
			{ store: { ...store, db: store.db.withSchema("gone") }, clock, log },
			"approvals",
			async () => runs++,
		);
		for (let minutes = 0; minutes < 3; minutes++) await clock.moveBy(MINUTE_MS);
		await untilOnClock(clock, "it has tried to", () => log.lines.length > 1, WATCH_INTERVAL_MS);
		ok(runs > 10);
		equal(log.lines[0]?.message, "the result of a chore could not be stored");
		await chore.stop();
	});
});
