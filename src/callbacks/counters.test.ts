// What the engine tells of the queue: as old as its last look, and honest when it cannot look.

import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { type Backlog, oldestDueAgeMs, sumBacklog } from "./counters.ts";

const NOW_MS = 1_000_000;

describe("what a look at the queue finds", () => {
	const nobodys = (waiting: number, waitingSinceMs: number | null) => ({ waiting, waitingSinceMs });
	const cases: readonly [
		title: string,
		heldSinceMs: readonly number[],
		others: ReturnType<typeof nobodys>,
		found: Omit<Backlog, "readAtMs">,
	][] = [
		["nothing waits anywhere", [], nobodys(0, null), { programmesDue: 0, oldestDueAtMs: null }],
		[
			"in its own lanes",
			[NOW_MS - 1, NOW_MS - 9, NOW_MS - 3],
			nobodys(0, null),
			{ programmesDue: 3, oldestDueAtMs: NOW_MS - 9 },
		],
		[
			"in lanes that are nobody's",
			[],
			nobodys(2, NOW_MS - 4),
			{ programmesDue: 2, oldestDueAtMs: NOW_MS - 4 },
		],
		[
			"in both, the oldest of all",
			[NOW_MS - 9],
			nobodys(2, NOW_MS - 20),
			{ programmesDue: 3, oldestDueAtMs: NOW_MS - 20 },
		],
	];
	for (const [title, heldSinceMs, others, found] of cases) {
		test(title, () => {
			const held = new Map(heldSinceMs.map((sinceMs, index) => [index, sinceMs]));
			deepEqual(sumBacklog(held, others, NOW_MS), { readAtMs: NOW_MS, ...found });
		});
	}
});

describe("how long the oldest delivery has been due", () => {
	const cases: readonly [title: string, oldestDueAtMs: number | null, sinceLookMs: number, ageMs: number][] =
		[
			["none is due", null, 0, 0],
			["none was due a moment ago", null, 5_000, 0],
			["as of the look, because it may be gone by now", NOW_MS - 700, 5_000, 700],
			["nobody has looked for long: it counts on", NOW_MS - 700, 60_000, 60_700],
			["nobody has looked for long and nothing was due: nobody knows since then", null, 60_000, 60_000],
			["the look keeps for fifteen seconds", NOW_MS - 700, 15_000, 700],
			["and no longer", NOW_MS - 700, 15_001, 15_701],
		];
	for (const [title, oldestDueAtMs, sinceLookMs, ageMs] of cases) {
		test(title, () => {
			const backlog = { readAtMs: NOW_MS, programmesDue: 0, oldestDueAtMs };
			equal(oldestDueAgeMs(backlog, NOW_MS + sinceLookMs), ageMs);
		});
	}
});
