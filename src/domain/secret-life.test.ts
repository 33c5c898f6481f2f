import { equal } from "node:assert/strict";
import { test } from "node:test";
import { REPLACED_SECRET_GRACE_MS, type SecretState, type SecretTimes, secretState } from "./secret-life.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const NEVER: SecretTimes = { activatedAtMs: null, replacedAtMs: null, endedAtMs: null };
const REPLACED = { ...NEVER, activatedAtMs: NOW_MS - REPLACED_SECRET_GRACE_MS * 2 };

const CASES: readonly [what: string, times: SecretTimes, state: SecretState][] = [
	["one that was only made", NEVER, "prepared"],
	["one that was discarded", { ...NEVER, endedAtMs: NOW_MS }, "ended"],
	["one that was activated", { ...NEVER, activatedAtMs: NOW_MS }, "active"],
	["one replaced just now", { ...REPLACED, replacedAtMs: NOW_MS }, "replaced"],
	[
		"one replaced almost a day ago",
		{ ...REPLACED, replacedAtMs: NOW_MS - REPLACED_SECRET_GRACE_MS + 1 },
		"replaced",
	],
	["one replaced a day ago", { ...REPLACED, replacedAtMs: NOW_MS - REPLACED_SECRET_GRACE_MS }, "ended"],
	[
		"one ended before its day was over",
		{ ...REPLACED, replacedAtMs: NOW_MS - 2, endedAtMs: NOW_MS - 1 },
		"ended",
	],
];

for (const [what, times, state] of CASES) {
	test(`${what} is ${state}`, () => equal(secretState(times, NOW_MS), state));
}
