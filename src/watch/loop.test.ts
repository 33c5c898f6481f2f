import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createClock, START_MS, settle } from "../../test/support/clock.ts";
import { type LoopOptions, startLoop } from "./loop.ts";

function setUp(
	run: LoopOptions["run"] = async () => undefined,
	options: Pick<LoopOptions, "againAfterMs" | "firstAfterMs"> = {},
) {
	const clock = createClock();
	const runs: number[] = [];
	const failures: unknown[] = [];
	const loop = startLoop({
		clock,
		everyMs: 10_000,
		...options,
		async run(isStopping) {
			runs.push(clock.nowMs() - START_MS);
			await run(isStopping);
		},
		onFailure: (error) => failures.push(error),
	});
	return { clock, runs, failures, loop };
}

test("a loop runs at the start and then at its interval, and a stop leaves no timer behind", async () => {
	const { clock, runs, loop } = setUp();
	await clock.moveBy(0);
	await clock.moveBy(9_999);
	deepEqual(runs, [0]);
	await clock.moveBy(1);
	deepEqual(runs, [0, 10_000]);
	await loop.stop();
	equal(clock.waitingTimers, 0);
	loop.runSoon();
	await clock.moveBy(50_000);
	equal(runs.length, 2);
});

test("a loop can wait before its first run, and can retry sooner after a failure", async () => {
	let isFailing = true;
	const fail = async () => {
		if (isFailing) throw new Error("no room");
	};
	const { clock, runs, failures, loop } = setUp(fail, { firstAfterMs: 5_000, againAfterMs: 1_000 });
	await clock.moveBy(4_999);
	deepEqual(runs, []);
	await clock.moveBy(1);
	await clock.moveBy(1_000);
	isFailing = false;
	await clock.moveBy(1_000);
	await clock.moveBy(10_000);
	deepEqual(runs, [5_000, 6_000, 7_000, 17_000]);
	equal(failures.length, 2);
	await loop.stop();
});

test("a loop that is asked to run while it runs does so once more afterwards, and never twice at once", async () => {
	const gate = Promise.withResolvers<void>();
	const { clock, runs, loop } = setUp(() => gate.promise);
	await clock.moveBy(0);
	for (let asked = 0; asked < 3; asked++) loop.runSoon();
	await settle();
	equal(runs.length, 1);
	gate.resolve();
	await settle();
	equal(runs.length, 2);
	await loop.stop();
});

test("a stop waits for the present run, which can see that the loop is stopping", async () => {
	const gate = Promise.withResolvers<void>();
	const seen: boolean[] = [];
	const { clock, loop } = setUp(async (isStopping) => {
		await gate.promise;
		seen.push(isStopping());
	});
	await clock.moveBy(0);
	const stopped = loop.stop();
	gate.resolve();
	await stopped;
	deepEqual(seen, [true]);
});
