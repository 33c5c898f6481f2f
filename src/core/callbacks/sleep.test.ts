import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { createClock, settle } from "../../../test/support/clock.ts";
import { Sleep } from "./sleep.ts";

function setUp() {
	const clock = createClock();
	const sleep = new Sleep(clock);
	let hasEnded = false;
	const begin = (kind: "light" | "deep", delayMs: number): void => {
		hasEnded = false;
		void sleep[kind](delayMs).then(() => {
			hasEnded = true;
		});
	};
	/** Moves the clock. Returns whether the sleep has ended by then. */
	const after = async (ms: number): Promise<boolean> => {
		await clock.moveBy(ms);
		await settle();
		return hasEnded;
	};
	return { clock, sleep, begin, after };
}

for (const kind of ["light", "deep"] as const) {
	test(`a ${kind} sleep ends at its time and leaves no timer behind`, async () => {
		const { clock, begin, after } = setUp();
		begin(kind, 100);
		deepEqual([await after(99), await after(1), clock.waitingTimers], [false, true, 0]);
	});

	test(`a ${kind} sleep can be interrupted`, async () => {
		const { clock, sleep, begin, after } = setUp();
		begin(kind, 100);
		sleep.interrupt();
		deepEqual([await after(0), clock.waitingTimers], [true, 0]);
	});
}

test("a light sleep ends when the loop is woken, at once or within a time", async () => {
	const { sleep, begin, after } = setUp();
	begin("light", 100);
	sleep.wake();
	equal(await after(0), true);
	begin("light", 100);
	sleep.wakeWithin(20);
	sleep.wakeWithin(500);
	deepEqual([await after(19), await after(1)], [false, true]);
});

test("a deep sleep does not end when the loop is woken", async () => {
	const { sleep, begin, after } = setUp();
	begin("deep", 100);
	sleep.wake();
	sleep.wakeWithin(10);
	deepEqual([await after(99), await after(1)], [false, true]);
});

test("a loop that is awake is not affected: its next sleep takes its full time", async () => {
	const { clock, sleep, begin, after } = setUp();
	sleep.wake();
	sleep.wakeWithin(10);
	sleep.interrupt();
	equal(clock.waitingTimers, 0);
	begin("light", 100);
	deepEqual([await after(99), await after(1)], [false, true]);
});

test("a time that has passed ends the sleep at once", async () => {
	const { begin, after } = setUp();
	begin("light", -5);
	equal(await after(0), true);
});

test("two sleeps at a time are a programming error", () => {
	const { sleep, begin } = setUp();
	begin("light", 100);
	throws(() => sleep.light(5), /sleeps already/);
	sleep.interrupt();
});
