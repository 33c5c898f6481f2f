import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createClock, settle } from "../test/support/clock.ts";
import { createLog } from "../test/support/log.ts";
import { until } from "../test/support/until.ts";
import { createChoreBook } from "./chores/book.ts";
import { startChore } from "./chores.ts";

function setUp(work: (isStopping: () => boolean) => Promise<void> = async () => undefined) {
	const clock = createClock();
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
