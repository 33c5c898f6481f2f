import { equal } from "node:assert/strict";
import { test } from "node:test";
import { type EndedAccess, sayWhatEnded } from "./end-access.ts";

const TOKEN = { token_right: "read", hint: "1a2b", name: "Portal" } as const;

const CASES: readonly [ended: Partial<EndedAccess>, said: string | null][] = [
	[{}, null],
	[{ sessions: 1 }, "1 session was ended"],
	[{ links: 2 }, "2 links were ended"],
	[{ sessions: 1, links: 1 }, "1 session and 1 link were ended"],
	[{ keys: 1 }, "1 API key was ended"],
	[
		{ sessions: 1, links: 1, keys: 2, secrets: 1 },
		"1 session, 1 link, 2 API keys and 1 prepared secret were ended",
	],
	[{ lowered: 1 }, "1 API key can no longer approve or reject"],
	[
		{ links: 1, lowered: 2, jobs: 1 },
		"1 link was ended, and 2 API keys can no longer approve or reject, and 1 job was stopped",
	],
	[{ jobs: 1 }, "1 job was stopped"],
	[{ tokens: [TOKEN] }, "1 API token was ended"],
	[{ sessions: 2, jobs: 2 }, "2 sessions were ended, and 2 jobs were stopped"],
];

for (const [ended, said] of CASES) {
	test(`the ended access is described as: ${said ?? "nothing"}`, () => {
		const nothing = { sessions: 0, links: 0, keys: 0, lowered: 0, secrets: 0, tokens: [], jobs: 0 };
		equal(sayWhatEnded({ ...nothing, ...ended }), said);
	});
}
