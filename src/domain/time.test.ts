import { equal } from "node:assert/strict";
import { test } from "node:test";
import { utcMinute } from "./time.ts";

for (const [at, words] of [
	["2026-03-01T12:00:00.000Z", "2026-03-01 12:00 UTC"],
	["2026-03-01T12:00:59.999Z", "2026-03-01 12:00 UTC"],
	["2026-03-01T00:30:00.000+02:00", "2026-02-28 22:30 UTC"],
	["1970-01-01T00:00:00.000Z", "1970-01-01 00:00 UTC"],
] as const) {
	test(`${at} is ${words}`, () => equal(utcMinute(Date.parse(at)), words));
}
