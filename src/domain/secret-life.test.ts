import { equal } from "node:assert/strict";
import { test } from "node:test";
import { REPLACED_SECRET_GRACE_MS, type SecretState, type SecretTimes, stateOf } from "./secret-life.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const NEVER: SecretTimes = { activated_at_ms: null, replaced_at_ms: null, ended_at_ms: null };
const REPLACED = { ...NEVER, activated_at_ms: NOW_MS - REPLACED_SECRET_GRACE_MS * 2 };

const CASES: readonly [what: string, times: SecretTimes, state: SecretState][] = [
	["one that was only made", NEVER, "prepared"],
	["one that was discarded", { ...NEVER, ended_at_ms: NOW_MS }, "ended"],
	["one that was activated", { ...NEVER, activated_at_ms: NOW_MS }, "active"],
	["one replaced just now", { ...REPLACED, replaced_at_ms: NOW_MS }, "replaced"],
	[
		"one replaced almost a day ago",
		{ ...REPLACED, replaced_at_ms: NOW_MS - REPLACED_SECRET_GRACE_MS + 1 },
		"replaced",
	],
	["one replaced a day ago", { ...REPLACED, replaced_at_ms: NOW_MS - REPLACED_SECRET_GRACE_MS }, "ended"],
	[
		"one ended before its day was over",
		{ ...REPLACED, replaced_at_ms: NOW_MS - 2, ended_at_ms: NOW_MS - 1 },
		"ended",
	],
];

for (const [what, times, state] of CASES) {
	test(`${what} is ${state}`, () => equal(stateOf(times, NOW_MS), state));
}
