import { equal } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isoTime, utcMinute } from "./time.ts";

for (const [at, words] of [
	["2026-03-01T12:00:00.000Z", "2026-03-01 12:00 UTC"],
	["2026-03-01T12:00:59.999Z", "2026-03-01 12:00 UTC"],
	["2026-03-01T00:30:00.000+02:00", "2026-02-28 22:30 UTC"],
	["1970-01-01T00:00:00.000Z", "1970-01-01 00:00 UTC"],
] as const) {
	test(`${at} is ${words}`, () => equal(utcMinute(Date.parse(at)), words));
}

test("a time is written as JavaScript writes it, also right after another one", () => {
	const near = fc.integer({ min: -3_000, max: 1_767_225_600_000 });
	const property = fc.property(near, fc.integer({ min: 0, max: 2_000 }), (atMs, laterMs) => {
		equal(isoTime(atMs), new Date(atMs).toISOString());
		equal(isoTime(atMs + laterMs), new Date(atMs + laterMs).toISOString());
	});
	fc.assert(property, { numRuns: 500 });
});
