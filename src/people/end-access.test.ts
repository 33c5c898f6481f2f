import { equal } from "node:assert/strict";
import { test } from "node:test";
import { type EndedAccess, sayWhatEnded } from "./end-access.ts";

const CASES: readonly [ended: Partial<EndedAccess>, said: string | null][] = [
	[{}, null],
	[{ sessions: 1 }, "1 session was ended"],
	[{ links: 2 }, "2 links were ended"],
	[{ sessions: 1, links: 1 }, "1 session and 1 link were ended"],
	[{ jobs: 1 }, "1 job was stopped"],
	[{ sessions: 2, jobs: 2 }, "2 sessions were ended, and 2 jobs were stopped"],
];

for (const [ended, said] of CASES) {
	test(`what ended is told as: ${said ?? "nothing"}`, () => {
		equal(sayWhatEnded({ sessions: 0, links: 0, jobs: 0, ...ended }), said);
	});
}
