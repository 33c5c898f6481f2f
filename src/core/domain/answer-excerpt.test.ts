import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import {
	EXCERPT_BODY_BYTES,
	excerptAnswer,
	firstLineOf,
	readExcerpt,
	writeExcerpt,
} from "./answer-excerpt.ts";

const NOTHING = Buffer.alloc(0);

test("only four headers are stored, with the body as text", () => {
	const headers = {
		location: "https://shop.example/neu/",
		"content-type": "text/html; charset=utf-8",
		server: "nginx",
		"retry-after": "120",
		"set-cookie": ["session=secret"],
		"x-powered-by": "PHP/8",
	};
	deepEqual(excerptAnswer(headers, Buffer.from("<h1>Umgezogen</h1>"), false), {
		location: "https://shop.example/neu/",
		contentType: "text/html; charset=utf-8",
		server: "nginx",
		retryAfter: "120",
		body: "<h1>Umgezogen</h1>",
		isCut: false,
	});
});

test("a missing header is null, and a header that came twice is stored with both values", () => {
	const excerpt = excerptAnswer({ location: ["/a", "/b"] }, NOTHING, true);
	deepEqual(excerpt, {
		location: "/a, /b",
		contentType: null,
		server: null,
		retryAfter: null,
		body: "",
		isCut: true,
	});
});

test("a long header is cut, and characters that cannot be shown are escaped", () => {
	const keep = (server: string) => excerptAnswer({ server }, NOTHING, false).server ?? "";
	equal(keep("x".repeat(1_000)), "x".repeat(1_000));
	equal(keep("x".repeat(16_000)), `${"x".repeat(1_000)}…`);
	equal(keep("\u00ff".repeat(16_000)).length, 1_001);
	equal(keep(Buffer.from("Größe").toString("latin1")), "Größe");
	equal(keep("\u001b[31m\u009b"), "\\x1b[31m\\x9b");
});

test("at most two kilobytes of the body are stored", () => {
	const { body } = excerptAnswer({}, Buffer.alloc(9_000, "a"), true);
	equal(body, "a".repeat(EXCERPT_BODY_BYTES));
	ok(excerptAnswer({}, Buffer.alloc(9_000), true).body.length <= 4 * EXCERPT_BODY_BYTES);
});

test("a stored answer reads back unchanged, and contains no NUL whatever the shop sent", () => {
	const hostile = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
	for (const body of [hostile, NOTHING, Buffer.from('"\\u0000" \\ \n\t Größe 😀 </script>')]) {
		const excerpt = excerptAnswer({ location: "/\u0000", server: "" }, body, false);
		const stored = writeExcerpt(excerpt);
		deepEqual(readExcerpt(stored), excerpt);
		ok(!stored.includes("\0"));
	}
});

test("an answer that was not stored or cannot be read is null", () => {
	for (const stored of [null, "", "x", "null", "7"]) equal(readExcerpt(stored), null);
});

test("the first line of an answer is returned, unless the answer is an HTML page", () => {
	const lineOf = (body: string) => firstLineOf(writeExcerpt(excerptAnswer({}, Buffer.from(body), false)));
	const words = "The timestamp is 600 s behind this clock";
	deepEqual(["", " \n", "<html>", `\n${words}\nmore`, "x".repeat(300)].map(lineOf), [
		null,
		null,
		null,
		words,
		`${"x".repeat(200)}…`,
	]);
	deepEqual(firstLineOf(null), null);
});
