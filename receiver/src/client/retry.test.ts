import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultRetry, isWorthAnotherTry, planRetry, readRetryAfterMs } from "./retry.ts";

test("pauses double, and up to half of each is random", () => {
	const shortest = [1, 2, 3].map((attempts) => planRetry(defaultRetry, attempts, 0, undefined, 0));
	const longest = [1, 2, 3].map((attempts) => planRetry(defaultRetry, attempts, 0, undefined, 1));
	assert.deepEqual(shortest, [250, 500, 1_000]);
	assert.deepEqual(longest, [500, 1_000, 2_000]);
});

test("there is no pause after the fourth try", () => {
	assert.equal(planRetry(defaultRetry, 4, 0, undefined, 0), undefined);
	assert.equal(planRetry({ ...defaultRetry, maxAttempts: 1 }, 1, 0, undefined, 0), undefined);
});

test("no pause chosen by the client is longer than the maximum", () => {
	const policy = { ...defaultRetry, maxAttempts: 20, totalMs: 1e9 };
	assert.equal(planRetry(policy, 15, 0, undefined, 1), 8_000);
});

test("the time that the service asks for is waited, and never less", () => {
	assert.equal(planRetry(defaultRetry, 1, 0, 5_000, 0), 5_250);
	assert.equal(planRetry(defaultRetry, 1, 0, 0, 0), 250);
});

test("a pause that would exceed the total time is not begun", () => {
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

test("408, 429 and 5xx are retried, and nothing else is", () => {
	const worth = Array.from({ length: 500 }, (_, i) => i + 100).filter(isWorthAnotherTry);
	assert.deepEqual(worth, [408, 429, ...Array.from({ length: 100 }, (_, i) => i + 500)]);
});

test("Retry-After is parsed as seconds or a date, and anything else is ignored", () => {
	const nowMs = Date.UTC(2026, 0, 1, 12);
	assert.equal(readRetryAfterMs("5", nowMs), 5_000);
	assert.equal(readRetryAfterMs("0", nowMs), 0);
	assert.equal(readRetryAfterMs("Thu, 01 Jan 2026 12:00:30 GMT", nowMs), 30_000);
	assert.equal(readRetryAfterMs("Thu, 01 Jan 2026 11:00:00 GMT", nowMs), 0);
	for (const value of [null, "", "-5", "5.5", "soon", "1e3", "9999999999"]) {
		assert.equal(readRetryAfterMs(value, nowMs), undefined);
	}
});
