import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_ATTEMPTS, nextDueAtMs, RETRY_DELAYS_MS } from "./retry.ts";

// The delays are written out in seconds, so that a wrong factor in the source is not repeated here.
const DELAYS_SECONDS = [60, 300, 1_800, 7_200, 21_600, 86_400];
const ENDED_AT_MS = 1_767_225_600_123;

test("contract 8: the delays are 1 minute, 5 minutes, 30 minutes, 2 hours, 6 hours and 24 hours, in order", () => {
	assert.deepEqual(
		RETRY_DELAYS_MS.map((ms) => ms / 1000),
		DELAYS_SECONDS,
	);
});

test("contract 8: there are at most seven attempts", () => {
	assert.equal(MAX_ATTEMPTS, 7);
});

test("contract 8: a shop that never answers is tried for about a day and a half", () => {
	const totalMs = RETRY_DELAYS_MS.reduce((sum, delayMs) => sum + delayMs, 0);
	assert.equal(totalMs / 1000, 117_360);
	assert.equal((totalMs / 3_600_000).toFixed(1), "32.6");
});

for (const [i, delaySeconds] of DELAYS_SECONDS.entries()) {
	test(`contract 8: after failed attempt ${i + 1} the next is due exactly ${delaySeconds} s after its end`, () => {
		assert.equal(nextDueAtMs(i + 1, ENDED_AT_MS), ENDED_AT_MS + delaySeconds * 1000);
		assert.equal(nextDueAtMs(i + 1, 0), delaySeconds * 1000);
	});
}

test("contract 8: after the seventh attempt, or for an impossible count, no attempt is due", () => {
	for (const counted of [7, 8, 100, Number.MAX_SAFE_INTEGER, 0, -1, 1.5, Number.NaN]) {
		assert.equal(nextDueAtMs(counted, ENDED_AT_MS), null, String(counted));
	}
});
