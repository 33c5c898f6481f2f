import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createClock, START_MS } from "../../../test/support/clock.ts";
import { Alarm } from "./alarm.ts";

function setUp() {
	const clock = createClock();
	const rung: number[] = [];
	const alarm = new Alarm(clock, () => rung.push(clock.nowMs() - START_MS));
	return { clock, rung, alarm };
}

test("the alarm rings once, at the earliest time that anybody asked for", async () => {
	const { clock, rung, alarm } = setUp();
	alarm.ringWithin(500);
	alarm.ringWithin(200);
	alarm.ringWithin(900);
	await clock.moveBy(2_000);
	deepEqual(rung, [200]);
	equal(alarm.isSet, false);
	equal(clock.waitingTimers, 0);
});

test("an alarm can be set again while it rings", async () => {
	const clock = createClock();
	let rings = 0;
	const alarm: Alarm = new Alarm(clock, () => {
		rings++;
		if (rings < 3) alarm.ringWithin(100);
	});
	alarm.ringWithin(100);
	await clock.moveBy(1_000);
	equal(rings, 3);
});

test("a cancelled alarm stays silent and leaves no timer behind", async () => {
	const { clock, rung, alarm } = setUp();
	alarm.ringWithin(100);
	alarm.cancel();
	equal(clock.waitingTimers, 0);
	await clock.moveBy(1_000);
	deepEqual(rung, []);
});
