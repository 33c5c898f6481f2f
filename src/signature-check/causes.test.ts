import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { differenceOf } from "./causes.ts";

test("the offset is in bytes, and what stands around it is shown, cut with dots", () => {
	const found = differenceOf(
		"äö-0123456789abcdefXrest of what was signed",
		"äö-0123456789abcdefYrest of what was signed",
	);
	deepEqual(found, {
		offset: 21,
		signedBytes: 45,
		seenBytes: 45,
		before: "…0123456789abcdef",
		after: "rest of what was…",
		signed: "X",
		seen: "Y",
	});
});

test("what cannot be seen is written out, and half a character is never shown", () => {
	const found = differenceOf("ab", "a\u200b\r\nb ");
	deepEqual([found.signed, found.seen, found.after], ["b", "[U+200B][U+000D][U+000A]b[U+0020]", ""]);
	const faces = differenceOf("x😀y", "x😁y");
	deepEqual([faces.offset, faces.before, faces.signed, faces.seen, faces.after], [1, "x", "😀", "😁", "y"]);
});

test("a long difference is shortened and says how much more there is", () => {
	equal(differenceOf("", "é".repeat(100)).seen, `${"é".repeat(72)}… (56 more bytes)`);
});
