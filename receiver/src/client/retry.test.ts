import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultRetry, isWorthAnotherTry, planRetry, readRetryAfterMs } from "./retry.ts";

test("pauses double, and chance takes up to half of each away", () => {
	const shortest = [1, 2, 3].map((attempts) => planRetry(defaultRetry, attempts, 0, undefined, 0));
	const longest = [1, 2, 3].map((attempts) => planRetry(defaultRetry, attempts, 0, undefined, 1));
	assert.deepEqual(shortest, [250, 500, 1_000]);
	assert.deepEqual(longest, [500, 1_000, 2_000]);
});

test("after the fourth try there is none", () => {
	assert.equal(planRetry(defaultRetry, 4, 0, undefined, 0), undefined);
	assert.equal(planRetry({ ...defaultRetry, maxAttempts: 1 }, 1, 0, undefined, 0), undefined);
});

test("no pause of our own is longer than the longest", () => {
	const policy = { ...defaultRetry, maxAttempts: 20, totalMs: 1e9 };
	assert.equal(planRetry(policy, 15, 0, undefined, 1), 8_000);
});

test("what the service asks to wait is waited, and never less", () => {
	assert.equal(planRetry(defaultRetry, 1, 0, 5_000, 0), 5_250);
	assert.equal(planRetry(defaultRetry, 1, 0, 0, 0), 250);
});

test("a pause that would go beyond the whole time is not begun", () => {
	assert.equal(planRetry(defaultRetry, 1, 29_749, undefined, 0), 250);
	assert.equal(planRetry(defaultRetry, 1, 29_750, undefined, 0), undefined);
	assert.equal(planRetry(defaultRetry, 1, 0, 29_750, 0), undefined);
	assert.equal(planRetry(defaultRetry, 1, 0, 3_600_000, 0), undefined);
});

test("the service's own five seconds leave room for all four tries", () => {
	let elapsedMs = 0;
	for (let attempts = 1; attempts < 4; attempts++) {
		const delayMs = planRetry(defaultRetry, attempts, elapsedMs, 5_000, 1);
		assert.ok(delayMs !== undefined);
		elapsedMs += delayMs;
	}
});

test("408, 429 and 5xx are worth another try, and nothing else is", () => {
	const worth = Array.from({ length: 500 }, (_, i) => i + 100).filter(isWorthAnotherTry);
	assert.deepEqual(worth, [408, 429, ...Array.from({ length: 100 }, (_, i) => i + 500)]);
});

test("Retry-After is read as seconds or as a date, and anything else is left alone", () => {
	const nowMs = Date.UTC(2026, 0, 1, 12);
	assert.equal(readRetryAfterMs("5", nowMs), 5_000);
	assert.equal(readRetryAfterMs("0", nowMs), 0);
	assert.equal(readRetryAfterMs("Thu, 01 Jan 2026 12:00:30 GMT", nowMs), 30_000);
	assert.equal(readRetryAfterMs("Thu, 01 Jan 2026 11:00:00 GMT", nowMs), 0);
	for (const value of [null, "", "-5", "5.5", "soon", "1e3", "9999999999"]) {
		assert.equal(readRetryAfterMs(value, nowMs), undefined);
	}
});
