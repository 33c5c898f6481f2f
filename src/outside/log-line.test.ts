import { equal } from "node:assert/strict";
import { test } from "node:test";
import { sayLogLine } from "./log.ts";

const BASE = { instance: "0a1b2c3d", role: "all", version: "1.0.0", time: "2026-03-01T09:08:07.123Z" };

function say(line: object): string {
	return sayLogLine(`${JSON.stringify({ ...BASE, ...line })}\n`);
}

test("a line shows time, message and the remaining fields", () => {
	equal(
		say({ level: 30, msg: "made the key", path: "/srv/a b", count: 2, from: "x" }),
		'09:08:07Z made the key  path="/srv/a b"  count=2  from=x\n',
	);
});

test("the level is shown as a word", () => {
	equal(say({ level: 40, msg: "Mail is off." }), "09:08:07Z warning: Mail is off.\n");
	equal(say({ level: 50, msg: "chore failed" }), "09:08:07Z error: chore failed\n");
});

test("an error is shown with its location", () => {
	equal(
		say({
			level: 50,
			msg: "failed",
			err: { type: "Error", message: "no", stack: "Error: no\n    at a.ts:1" },
		}),
		"09:08:07Z error: failed\n    Error: no\n        at a.ts:1\n",
	);
	equal(
		say({ level: 50, msg: "failed", err: { message: "no", code: "EPIPE" } }),
		"09:08:07Z error: failed\n    no\n    code EPIPE\n",
	);
	equal(say({ level: 50, msg: "failed", err: "text" }), "09:08:07Z error: failed\n    text\n");
});

test("control characters cannot move the cursor or colour the screen", () => {
	const said = say({ level: 30, msg: "a\u001b[2Jb\rc", from: "\u202ex\u0007" });
	equal(/(?!\n)\p{C}/u.test(said), false, JSON.stringify(said));
});

test("a line break in a value does not begin a new log line", () => {
	equal(say({ level: 30, msg: "a\n09:08:08Z b" }), "09:08:07Z a\n    09:08:08Z b\n");
});

test("text that is not a log line is returned unchanged", () => {
	for (const text of ["Stopped.\n", "null\n", '{"a":1}\n']) equal(sayLogLine(text), text);
});
