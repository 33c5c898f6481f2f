import { equal } from "node:assert/strict";
import { test } from "node:test";
import { CONFIRMATION_MS, FRESH_SIGN_IN_MS, isPasswordRecent } from "./recent-password.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const OLD_MS = NOW_MS - 6 * FRESH_SIGN_IN_MS;

const CASES: readonly [
	what: string,
	signedInAtMs: number,
	confirmedAtMs: number | null,
	isRecent: boolean,
][] = [
	["a sign-in of just now", NOW_MS, null, true],
	["a sign-in of almost a day ago", NOW_MS - FRESH_SIGN_IN_MS + 1, null, true],
	["a sign-in of a day ago", NOW_MS - FRESH_SIGN_IN_MS, null, false],
	["a sign-in by a machine whose clock is ahead", NOW_MS + 1_000, null, true],
	["an old sign-in, confirmed just now", OLD_MS, NOW_MS, true],
	["an old sign-in, confirmed almost an hour ago", OLD_MS, NOW_MS - CONFIRMATION_MS + 1, true],
	["an old sign-in, confirmed an hour ago", OLD_MS, NOW_MS - CONFIRMATION_MS, false],
	["a sign-in of today, confirmed hours ago", NOW_MS - 3 * CONFIRMATION_MS, OLD_MS, true],
];

for (const [what, signedInAtMs, confirmedAtMs, isRecent] of CASES) {
	test(`${what}: ${isRecent ? "nothing is asked" : "the password is asked for"}`, () => {
		equal(isPasswordRecent({ signedInAtMs, confirmedAtMs }, NOW_MS), isRecent);
	});
}
