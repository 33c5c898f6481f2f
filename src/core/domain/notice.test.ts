import assert from "node:assert/strict";
import { test } from "node:test";
import { isSerious, isToBePublished, MAIL_INTERVAL_MS } from "./notice.ts";
import { HOUR_MS, MINUTE_MS } from "./time.ts";

const NOW_MS = 1_767_225_600_000;

test("trouble is serious with the fifth failed attempt in a row, after ten minutes, or with a final failure", () => {
	const cases: [failedAttempts: number, minutesOpen: number, failures: number, isSerious: boolean][] = [
		[1, 0, 0, false],
		[4, 0, 0, false],
		[5, 0, 0, true],
		[6, 0, 0, true],
		[1, 9.999, 0, false],
		[4, 9.999, 0, false],
		[1, 10, 0, true],
		[3, 60, 0, true],
		[1, 0, 1, true],
		[1, 0, 40, true],
	];
	for (const [failedAttempts, minutesOpen, failures, expected] of cases) {
		const trouble = { openedAtMs: NOW_MS - minutesOpen * MINUTE_MS, failedAttempts, failures };
		assert.equal(isSerious(trouble, NOW_MS), expected, JSON.stringify(trouble));
		assert.equal(isToBePublished(trouble, null, NOW_MS), expected, JSON.stringify(trouble));
	}
});

test("for fifteen minutes after a mail, failures in a row alone publish no notice", () => {
	const trouble = { openedAtMs: NOW_MS - MINUTE_MS, failedAttempts: 50, failures: 0 };
	assert.equal(isToBePublished(trouble, NOW_MS - MAIL_INTERVAL_MS + 1, NOW_MS), false);
	assert.equal(isToBePublished(trouble, NOW_MS - MAIL_INTERVAL_MS, NOW_MS), true);
	assert.equal(isSerious(trouble, NOW_MS), true);
	assert.equal(isToBePublished({ ...trouble, failures: 1 }, NOW_MS - 1, NOW_MS), true);
	assert.equal(
		isToBePublished({ ...trouble, openedAtMs: NOW_MS - 10 * MINUTE_MS }, NOW_MS - 1, NOW_MS),
		true,
	);
});

test("if the clock was set back since the first failure, nothing is published early", () => {
	const trouble = { openedAtMs: NOW_MS + HOUR_MS, failedAttempts: 1, failures: 0 };
	assert.equal(isSerious(trouble, NOW_MS), false);
});
