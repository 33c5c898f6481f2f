import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MAIL_INTERVAL_MS, mailDueAtMs } from "./notice.ts";
import { MINUTE_MS } from "./time.ts";

const NOW_MS = 1_767_225_600_000;

test("the owner of a programme that was never mailed is told at once", () => {
	assert.equal(mailDueAtMs(NOW_MS, null), NOW_MS);
	assert.equal(mailDueAtMs(0, null), 0);
});

test("the next mail waits until fifteen minutes after the last, and not longer", () => {
	assert.equal(MAIL_INTERVAL_MS, 15 * MINUTE_MS);
	const cases: [lastMailedMinutesAgo: number, dueInMinutes: number][] = [
		[0, 15],
		[1, 14],
		[14, 1],
		[15, 0],
		[16, 0],
		[100_000, 0],
	];
	for (const [minutesAgo, dueInMinutes] of cases) {
		const dueAtMs = mailDueAtMs(NOW_MS, NOW_MS - minutesAgo * MINUTE_MS);
		assert.equal(dueAtMs, NOW_MS + dueInMinutes * MINUTE_MS, `${minutesAgo} minutes ago`);
	}
	assert.equal(mailDueAtMs(NOW_MS, NOW_MS - MAIL_INTERVAL_MS + 1), NOW_MS + 1);
	assert.equal(mailDueAtMs(NOW_MS, NOW_MS - MAIL_INTERVAL_MS - 1), NOW_MS);
});

test("a mail at the very start of the clock counts as one", () => {
	assert.equal(mailDueAtMs(0, 0), MAIL_INTERVAL_MS);
});

test("property: a mail is never due in the past, nor two within fifteen minutes, however failures fall", () => {
	const anyGaps = fc.array(fc.integer({ min: 0, max: 40 * MINUTE_MS }), { minLength: 1 });
	fc.assert(
		fc.property(anyGaps, (gapsMs) => {
			let nowMs = NOW_MS;
			let lastMailedAtMs: number | null = null;
			for (const gapMs of gapsMs) {
				nowMs += gapMs;
				const dueAtMs = mailDueAtMs(nowMs, lastMailedAtMs);
				assert.ok(dueAtMs >= nowMs);
				assert.ok(lastMailedAtMs === null || dueAtMs - lastMailedAtMs >= MAIL_INTERVAL_MS);
				assert.ok(dueAtMs - nowMs <= MAIL_INTERVAL_MS);
				nowMs = dueAtMs;
				lastMailedAtMs = dueAtMs;
			}
		}),
	);
});
