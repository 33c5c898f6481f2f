import { equal } from "node:assert/strict";
import { test } from "node:test";
import { sayMailReply } from "./mail-reply.ts";

test("of what a mail server says the first line is taken, without what no page or database can show", () => {
	equal(sayMailReply("550 5.1.1 No such user\r\nsecond line"), "550 5.1.1 No such user");
	equal(sayMailReply("550 a\0b\u202ec\u2028d\ud800"), "550 a b c d\ufffd");
	equal(sayMailReply(`550 ${"x".repeat(300)}`).length, 200);
	equal(sayMailReply(`550 ${"x".repeat(195)}😀`).at(-1), "\ufffd");
	equal(sayMailReply(""), "");
});
