// What the engine tells of the queue: as old as its last look, and honest when it cannot look.

import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { type Backlog, findBacklog, oldestDueAgeMs } from "./counters.ts";

const NOW_MS = 1_000_000;

describe("what a look at the queue finds", () => {
	const cases: readonly [title: string, dueAtMs: readonly number[], found: Omit<Backlog, "readAtMs">][] = [
		["nothing in an empty queue", [], { programmesDue: 0, oldestDueAtMs: null }],
		["nothing where all is for later", [NOW_MS + 1, NOW_MS + 9], { programmesDue: 0, oldestDueAtMs: null }],
		["what is due now", [NOW_MS], { programmesDue: 1, oldestDueAtMs: NOW_MS }],
		[
			"the oldest of what is due",
			[NOW_MS - 1, NOW_MS + 1, NOW_MS - 9, NOW_MS - 3],
			{ programmesDue: 3, oldestDueAtMs: NOW_MS - 9 },
		],
	];
	for (const [title, dueAtMs, found] of cases) {
		test(title, () => {
			const agenda = dueAtMs.map((due) => ({ dueAtMs: due }));
			deepEqual(findBacklog(agenda, NOW_MS), { readAtMs: NOW_MS, ...found });
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
