import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createClock, settle } from "../test/support/clock.ts";
import { createLog } from "../test/support/log.ts";
import { startChore } from "./chores.ts";

function setUp(work: (isStopping: () => boolean) => Promise<void> = async () => undefined) {
	const clock = createClock();
	const log = createLog();
	const runs: number[] = [];
	const chore = startChore({ clock, log }, "sweep", 1_000, async (isStopping) => {
		runs.push(clock.nowMs());
		await work(isStopping);
	});
	return { clock, log, runs, chore };
}

test("a chore runs at the start and then at its interval, and a stop leaves no timer behind", async () => {
	const { clock, runs, chore } = setUp();
	await clock.moveBy(0);
	equal(runs.length, 1);
	await clock.moveBy(999);
	equal(runs.length, 1);
	await clock.moveBy(1);
	equal(runs.length, 2);
	await chore.stop();
	equal(clock.waitingTimers, 0);
	chore.runSoon();
	await clock.moveBy(5_000);
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
	await clock.moveBy(1_000);
	equal(runs.length, 2);
	await chore.stop();
	deepEqual(
		log.lines.map(({ fields }) => "chore" in fields && fields.chore),
		["sweep", "sweep"],
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
