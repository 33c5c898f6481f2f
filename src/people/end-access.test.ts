import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { type EndedAccess, type EndedLink, sayWhatEnded, withinProgramme } from "./end-access.ts";

const NOTHING: EndedAccess = { sessions: 0, challenges: 0, links: [], imports: 0 };
const invitation = (email: string, programmeId: number | null = null): EndedLink => ({
	called: "invitation",
	email,
	programmeId,
});
const password = (email: string): EndedLink => ({ called: "password link", email, programmeId: null });

const CASES: readonly [ended: Partial<EndedAccess>, said: string | null][] = [
	[{}, null],
	[{ sessions: 1 }, "1 session was withdrawn"],
	[{ sessions: 2 }, "2 sessions were withdrawn"],
	[{ challenges: 1 }, "1 unfinished sign-in was withdrawn"],
	[{ imports: 1 }, "1 import was stopped"],
	[{ sessions: 2, imports: 2 }, "2 sessions were withdrawn, and 2 imports were stopped"],
	[{ links: [invitation("x@y.example")] }, "1 invitation to x@y.example was withdrawn"],
	[
		{ sessions: 2, links: [password("z@y.example"), invitation("x@y.example")] },
		"2 sessions, 1 invitation to x@y.example and 1 password link for z@y.example were withdrawn",
	],
	[
		{ sessions: 1, links: [invitation("a@y.example"), invitation("b@y.example")] },
		"1 session and 2 invitations to a@y.example and b@y.example were withdrawn",
	],
	[
		{ links: ["a", "b", "c", "d", "e"].map((name) => invitation(`${name}@y.example`)) },
		"5 invitations to a@y.example, b@y.example, c@y.example and 2 more were withdrawn",
	],
	[
		{ links: [invitation("a@y.example", 1), invitation("a@y.example", 2)] },
		"2 invitations to a@y.example were withdrawn",
	],
];

for (const [ended, said] of CASES) {
	test(`what ended is told as: ${said ?? "nothing"}`, () => {
		equal(sayWhatEnded({ ...NOTHING, ...ended }), said);
	});
}

test("an owner is told of their own programme's links, and of nobody's elsewhere", () => {
	const mine = invitation("a@y.example", 1);
	const ended = {
		...NOTHING,
		sessions: 3,
		links: [mine, invitation("b@y.example", 2), password("c@y.example")],
	};
	deepEqual(withinProgramme(ended, 1), { ...NOTHING, sessions: 3, links: [mine] });
});
