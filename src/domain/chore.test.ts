import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import {
	CHORES,
	type ChoreRecord,
	choreTimeMs,
	describeLateness,
	isChoreName,
	isLate,
	mergeRecords,
} from "./chore.ts";
import { HOUR_MS, MINUTE_MS } from "./time.ts";

const NOW_MS = 100 * HOUR_MS;
const NEW: ChoreRecord = {
	name: "approvals",
	sinceMs: NOW_MS,
	lastSuccessMs: null,
	workingAtMs: null,
	lastFailureMs: null,
	failures: 0,
	error: null,
};
const ago = (minutes: number): number => NOW_MS - minutes * MINUTE_MS;

test("a chore is given ten times its interval, and two minutes at least", () => {
	equal(choreTimeMs("retention"), 10 * HOUR_MS);
	equal(choreTimeMs("notice_mails"), 5 * MINUTE_MS);
	equal(choreTimeMs("change_mails"), 2 * MINUTE_MS);
});

const CASES: readonly (readonly [what: string, late: boolean, record: Partial<ChoreRecord>])[] = [
	["just begun", false, {}],
	["just begun and failing", false, { failures: 1, lastFailureMs: NOW_MS, error: "no." }],
	["never done for its time", true, { sinceMs: ago(3) }],
	["done within its time", false, { sinceMs: ago(90), lastSuccessMs: ago(2) }],
	["not done for its time: it hangs, or nobody is there", true, { lastSuccessMs: ago(2.1) }],
	["failing, and done within its time", false, { lastSuccessMs: ago(1), failures: 5 }],
	["failing for its time", true, { lastSuccessMs: ago(3), failures: 5 }],
	["a long run that goes from batch to batch", false, { lastSuccessMs: ago(30), workingAtMs: ago(1) }],
	["a long run that got stuck", true, { lastSuccessMs: ago(30), workingAtMs: ago(3) }],
	[
		"failing after some batches, again and again",
		true,
		{ lastSuccessMs: ago(30), workingAtMs: NOW_MS, failures: 9 },
	],
];

for (const [what, late, record] of CASES) {
	test(`${what}: ${late ? "late" : "not late"}`, () => equal(isLate({ ...NEW, ...record }, NOW_MS), late));
}

test("of what several processes know the latest counts, and a success of one ends the failures of all", () => {
	const failing = { ...NEW, sinceMs: ago(9), lastFailureMs: ago(1), failures: 4, error: "the last." };
	const older = { ...NEW, sinceMs: ago(5), lastFailureMs: ago(2), failures: 1, error: "an older." };
	const merged = { ...failing, lastSuccessMs: ago(3), workingAtMs: ago(1) };
	const working = { ...older, lastSuccessMs: ago(3), workingAtMs: ago(1) };
	deepEqual(mergeRecords(failing, working), merged);
	deepEqual(mergeRecords(working, failing), merged);
	const done = { ...NEW, lastSuccessMs: ago(0) };
	equal(mergeRecords(failing, done).failures, 0);
	equal(mergeRecords(done, failing).failures, 0);
	equal(mergeRecords(failing, done).error, "the last.", "what was wrong can still be read");
});

test("what staff read says since when, how often and why", () => {
	match(describeLateness(NEW), /^It has never succeeded\. No worker does it, or it hangs/);
	const failing = { ...NEW, lastSuccessMs: 0, failures: 1, error: "no room." };
	match(
		describeLateness(failing),
		/^It last succeeded at 1970-01-01T00:00:00\.000Z and failed once since\. .* says: no room\. /,
	);
	match(describeLateness({ ...failing, failures: 2 }), /failed 2 times since/);
});

test("what staff read about each chore is a sentence without its full stop", () => {
	for (const { undone } of Object.values(CHORES)) match(undone, /^[A-Z][^.]+[a-z]$/);
	equal(isChoreName("approvals"), true);
	equal(isChoreName("toString"), false);
});
