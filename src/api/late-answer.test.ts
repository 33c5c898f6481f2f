import assert from "node:assert/strict";
import { test } from "node:test";
import { createClock, settle } from "../../test/support/clock.ts";
import { createLateAnswer, LATE_MS, MAX_LATE } from "./late-answer.ts";

test("so many answers are late, and one more comes at once", async () => {
	const clock = createClock();
	const answerLate = createLateAnswer(clock, undefined);
	let answered = 0;
	const ask = () => answerLate().then(() => answered++);
	const late = Array.from({ length: MAX_LATE }, ask);
	await clock.moveBy(LATE_MS - 1);
	assert.equal(answered, 0);
	await ask();
	assert.equal(answered, 1);
	await clock.moveBy(1);
	await Promise.all(late);
	assert.equal(answered, MAX_LATE + 1);
	assert.equal(clock.waitingTimers, 0);
});

test("a stop waits for none of them, and leaves no timer", async () => {
	const clock = createClock();
	const stopping = new AbortController();
	const answerLate = createLateAnswer(clock, stopping.signal);
	const late = Array.from({ length: 3 }, () => answerLate());
	await settle();
	assert.equal(clock.waitingTimers, 3);
	stopping.abort();
	await Promise.all(late);
	await answerLate();
	assert.equal(clock.waitingTimers, 0);
});
