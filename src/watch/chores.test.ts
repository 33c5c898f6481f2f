import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createClock, START_MS, settle } from "../../test/support/clock.ts";
import { createLog } from "../../test/support/log.ts";
import { until } from "../../test/support/until.ts";
import { isLate } from "../domain/chore.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { createChoreBook } from "./chore-book.ts";
import { startChore } from "./chores.ts";

function setUp(
	work: (isStopping: () => boolean) => Promise<void> = async () => undefined,
	isSure: () => boolean = () => true,
) {
	const clock = createClock(START_MS, { isSure });
	const log = createLog();
	const book = createChoreBook(clock);
	const runs: number[] = [];
	const chore = startChore({ clock, log, book }, "approvals", async (isStopping) => {
		runs.push(clock.nowMs());
		await work(isStopping);
	});
	return { clock, log, book, runs, chore };
}

test("a chore runs at the start and then at its interval, and a stop leaves no timer behind", async () => {
	const { clock, runs, chore } = setUp();
	await clock.moveBy(0);
	equal(runs.length, 1);
	await clock.moveBy(9_999);
	equal(runs.length, 1);
	await clock.moveBy(1);
	equal(runs.length, 2);
	await chore.stop();
	equal(clock.waitingTimers, 0);
	chore.runSoon();
	await clock.moveBy(50_000);
	equal(runs.length, 2);
});

test("however often it is asked for while it runs, it runs once more afterwards, and never twice at once", async () => {
	const gate = Promise.withResolvers<void>();
	const { clock, runs, chore } = setUp(() => gate.promise);
	await clock.moveBy(0);
	for (let asked = 0; asked < 3; asked++) chore.runSoon();
	await settle();
	equal(runs.length, 1);
	gate.resolve();
	await settle();
	equal(runs.length, 2);
	await chore.stop();
});

test("a failure is logged with the chore's name and tried again", async () => {
	const { clock, log, runs, chore } = setUp(() => Promise.reject(new Error("no room")));
	await clock.moveBy(0);
	await clock.moveBy(10_000);
	equal(runs.length, 2);
	await chore.stop();
	deepEqual(
		log.lines.map(({ fields }) => "chore" in fields && fields.chore),
		["approvals", "approvals"],
	);
});

test("a stop waits for the run under way, which is told of it", async () => {
	const gate = Promise.withResolvers<void>();
	const seen: boolean[] = [];
	const { clock, chore } = setUp(async (isStopping) => {
		await gate.promise;
		seen.push(isStopping());
	});
	await clock.moveBy(0);
	const stopped = chore.stop();
	gate.resolve();
	await stopped;
	deepEqual(seen, [true]);
});

test("the book has every success and failure, how long a run took, and when a long run last began a batch", async () => {
	let isFailing = false;
	const { clock, book, chore } = setUp(async (isStopping) => {
		await clock.moveBy(70);
		isStopping();
		await clock.moveBy(30);
		if (isFailing) throw new Error("no room\nand more that nobody reads");
	});
	const report = () => book.reports.find(({ record }) => record.name === "approvals");
	async function runOnce(): Promise<void> {
		const beganAtMs = clock.nowMs();
		chore.runSoon();
		const ended = () => Math.max(report()?.record.lastSuccessMs ?? 0, report()?.record.lastFailureMs ?? 0);
		await until(() => ended() > beganAtMs);
	}
	const startedAtMs = clock.nowMs();
	await runOnce();
	const done = { name: "approvals", sinceMs: startedAtMs, lastSuccessMs: startedAtMs + 100 };
	deepEqual(report()?.record, {
		...done,
		workingAtMs: startedAtMs + 70,
		lastFailureMs: null,
		failures: 0,
		error: null,
	});
	equal(report()?.lastRunMs, 100);
	isFailing = true;
	for (const failures of [1, 2]) {
		await runOnce();
		const lastFailureMs = clock.nowMs();
		const workingAtMs = lastFailureMs - 30;
		deepEqual(report()?.record, { ...done, workingAtMs, lastFailureMs, failures, error: "no room." });
	}
	isFailing = false;
	await runOnce();
	equal(report()?.record.failures, 0);
	equal(report()?.failuresTotal, 2);
	await chore.stop();
});

test("while nobody is sure of the time a chore does not run, says nothing, and counts as late", async () => {
	let isSure = false;
	const { clock, log, book, runs, chore } = setUp(undefined, () => isSure);
	await clock.moveBy(0);
	chore.runSoon();
	chore.runSoon();
	equal(clock.waitingTimers, 1);
	await clock.moveBy(3 * MINUTE_MS);
	deepEqual(runs, []);
	deepEqual(log.lines, []);
	const records = () => book.reports.map(({ record }) => record);
	deepEqual(
		records().map((record) => isLate(record, clock.nowMs())),
		[true],
	);
	isSure = true;
	await clock.moveBy(5_000);
	equal(runs.length, 1, "within five seconds, however long its interval");
	await clock.moveBy(10_000);
	equal(runs.length, 2, "and from then on at its interval");
	await chore.stop();
	equal(clock.waitingTimers, 0);
});

test("a run under way ends at its next batch when nobody is sure of the time any more, and is not begun again", async () => {
	let isSure = true;
	const gate = Promise.withResolvers<void>();
	const seen: boolean[] = [];
	const { clock, runs, chore } = setUp(
		async (isStopping) => {
			seen.push(isStopping());
			await gate.promise;
			seen.push(isStopping());
		},
		() => isSure,
	);
	await clock.moveBy(0);
	chore.runSoon();
	isSure = false;
	gate.resolve();
	await settle();
	deepEqual(seen, [false, true]);
	await clock.moveBy(20_000);
	equal(runs.length, 1, "although it was asked for meanwhile");
	isSure = true;
	await clock.moveBy(5_000);
	equal(runs.length, 2);
	await chore.stop();
});
