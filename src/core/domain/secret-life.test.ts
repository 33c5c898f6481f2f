import { equal } from "node:assert/strict";
import { test } from "node:test";
import { REPLACED_SECRET_GRACE_MS, type SecretState, type SecretTimes, stateAt } from "./secret-life.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const NEVER: SecretTimes = { activatedAtMs: null, replacedAtMs: null, endedAtMs: null };
const REPLACED = { ...NEVER, activatedAtMs: NOW_MS - REPLACED_SECRET_GRACE_MS * 2 };

const CASES: readonly [title: string, times: SecretTimes, state: SecretState][] = [
	["a secret that was only made", NEVER, "prepared"],
	["a secret that was discarded", { ...NEVER, endedAtMs: NOW_MS }, "ended"],
	["a secret that was activated", { ...NEVER, activatedAtMs: NOW_MS }, "active"],
	["a secret that was replaced just now", { ...REPLACED, replacedAtMs: NOW_MS }, "replaced"],
	[
		"a secret that was replaced almost a day ago",
		{ ...REPLACED, replacedAtMs: NOW_MS - REPLACED_SECRET_GRACE_MS + 1 },
		"replaced",
	],
	[
		"a secret that was replaced a day ago",
		{ ...REPLACED, replacedAtMs: NOW_MS - REPLACED_SECRET_GRACE_MS },
		"ended",
	],
	[
		"a replaced secret that was ended within its day",
		{ ...REPLACED, replacedAtMs: NOW_MS - 2, endedAtMs: NOW_MS - 1 },
		"ended",
	],
];

for (const [title, times, state] of CASES) {
	test(`${title} is ${state}`, () => equal(stateAt(times, NOW_MS), state));
}
