// The movable clock, because every test about time trusts it.

import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { createClock, START_MS } from "./clock.ts";

test("timers fire in the order of their time, those set first before others of the same time", async () => {
	const clock = createClock();
	const fired: [string, number][] = [];
	const note = (name: string) => () => fired.push([name, clock.nowMs() - START_MS]);
	clock.after(20, note("later"));
	clock.after(10, note("first"));
	clock.after(10, note("second"));
	clock.after(31, note("not yet"));
	await clock.moveBy(30);
	deepEqual(fired, [
		["first", 10],
		["second", 10],
		["later", 20],
	]);
	equal(clock.nowMs(), START_MS + 30);
	equal(clock.waitingTimers, 1);
});

test("what a timer starts may wait for promises and I/O, and set timers that fire in the same move", async () => {
	const clock = createClock();
	const fired: number[] = [];
	const tick = async () => {
		fired.push(clock.nowMs() - START_MS);
		await new Promise((resolve) => setImmediate(resolve));
		await Promise.resolve();
		clock.after(10, () => void tick());
	};
	clock.after(10, () => void tick());
	await clock.moveBy(35);
	deepEqual(fired, [10, 20, 30]);
});

test("a cancelled timer does not fire, and the clock does not go back", async () => {
	const clock = createClock();
	const cancel = clock.after(5, () => {
		throw new Error("it was cancelled");
	});
	cancel();
	await clock.moveBy(10);
	equal(clock.waitingTimers, 0);
	await rejects(clock.moveTo(START_MS), RangeError);
});

test("a clock that leaps shows everything that fires the time of its arrival", async () => {
	const clock = createClock(START_MS, { leapMs: Number.POSITIVE_INFINITY });
	const fired: number[] = [];
	clock.after(20, () => fired.push(clock.nowMs() - START_MS));
	clock.after(10, () => fired.push(clock.nowMs() - START_MS));
	clock.after(31, () => fired.push(clock.nowMs() - START_MS));
	await clock.moveBy(30);
	deepEqual(fired, [30, 30]);
});

test("a clock that leaps by so much at a time gets there in so many leaps", async () => {
	const clock = createClock(START_MS, { leapMs: 10 });
	const fired: number[] = [];
	const tick = () => {
		fired.push(clock.nowMs() - START_MS);
		clock.after(4, tick);
	};
	clock.after(4, tick);
	await clock.moveBy(25);
	deepEqual(fired, [10, 20, 25]);
	equal(clock.nowMs(), START_MS + 25);
});
