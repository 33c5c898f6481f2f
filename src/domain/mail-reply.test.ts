import { equal } from "node:assert/strict";
import { test } from "node:test";
import { sayMailError, sayMailReply } from "./mail-reply.ts";

test("what a mail server says is brought on one line, without what no page or database can show", () => {
	equal(
		sayMailReply("550-5.7.1 Blocked\r\n550 5.7.1 See x.example "),
		"550-5.7.1 Blocked 550 5.7.1 See x.example",
	);
	equal(sayMailReply("550 a\0b\u202ec\u2028d\ud800"), "550 a b c d\ufffd");
	equal(sayMailReply(`550 ${"x".repeat(396)}`).length, 400);
	equal(sayMailReply(`550 ${"x".repeat(500)}`).slice(399), "x…");
	equal(sayMailReply(`550 ${"x".repeat(395)}😀`).slice(-2), "\ufffd…");
	equal(sayMailReply(""), "");
});

test("where several addresses were tried, what each said is told", () => {
	equal(sayMailError(new AggregateError([new Error("one"), new Error("other\n")])), "one; other");
	equal(sayMailError("a word"), "a word");
});
