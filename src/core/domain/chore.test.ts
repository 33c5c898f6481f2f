import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { CHORES, type ChoreRecord, isChoreName, isLate } from "./chore.ts";
import { HOUR_MS, MINUTE_MS } from "./time.ts";

const NOW_MS = 100 * HOUR_MS;
const NEW: ChoreRecord = {
	name: "approvals",
	since_ms: NOW_MS,
	last_success_ms: null,
	working_at_ms: null,
	last_failure_ms: null,
	failures: 0,
	error: null,
};
const ago = (minutes: number): number => NOW_MS - minutes * MINUTE_MS;

const CASES: readonly (readonly [what: string, late: boolean, record: Partial<ChoreRecord>])[] = [
	["just begun", false, {}],
	["just begun and failing", false, { failures: 1, last_failure_ms: NOW_MS, error: "no." }],
	["never done for its time", true, { since_ms: ago(3) }],
	["done within its time", false, { since_ms: ago(90), last_success_ms: ago(2) }],
	["not done for its time: it hangs, or nobody is there", true, { last_success_ms: ago(2.1) }],
	["failing, and done within its time", false, { last_success_ms: ago(1), failures: 5 }],
	["an hourly one, within ten hours", false, { name: "retention", last_success_ms: ago(600) }],
	["an hourly one, after ten hours", true, { name: "retention", last_success_ms: ago(601) }],
	["failing for its time", true, { last_success_ms: ago(3), failures: 5 }],
	["a long run that goes from batch to batch", false, { last_success_ms: ago(30), working_at_ms: ago(1) }],
	["a long run that got stuck", true, { last_success_ms: ago(30), working_at_ms: ago(3) }],
	[
		"failing after some batches, again and again",
		true,
		{ last_success_ms: ago(30), working_at_ms: NOW_MS, failures: 9 },
	],
];

for (const [what, late, record] of CASES) {
	test(`${what}: ${late ? "late" : "not late"}`, () => equal(isLate({ ...NEW, ...record }, NOW_MS), late));
}

test("no sentence about a chore ends with a full stop", () => {
	for (const { undone } of Object.values(CHORES)) match(undone, /^[A-Z][^.]+[a-z]$/);
	equal(isChoreName("approvals"), true);
	equal(isChoreName("toString"), false);
});
