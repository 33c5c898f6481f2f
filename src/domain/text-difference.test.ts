import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { differenceOf } from "./text-difference.ts";

test("two texts that are the same have no difference", () => {
	equal(differenceOf("ä", "ä"), null);
});

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
		signedHex: "58",
		seenHex: "59",
	});
});

test("what cannot be seen is written out, and nothing is nothing", () => {
	const found = differenceOf("ab", "a\u200b\r\nb ");
	deepEqual([found?.signed, found?.seen, found?.after], ["b", "[U+200B][U+000D][U+000A]b[U+0020]", ""]);
	deepEqual([differenceOf("a", "")?.seen, differenceOf("a", "")?.seenHex], ["", ""]);
});

test("half a character is never shown", () => {
	const found = differenceOf("x😀y", "x😁y");
	deepEqual([found?.offset, found?.signed, found?.seen, found?.after], [1, "😀", "😁", "y"]);
	const same = differenceOf("😀a", "😁a");
	deepEqual([same?.before, same?.after], ["", "a"]);
});

test("a long difference is shortened and says how much more there is", () => {
	const found = differenceOf("", "é".repeat(100));
	equal(found?.seen, `${"é".repeat(72)}… (56 more bytes)`);
	equal(found?.seenHex, "c3 a9 c3 a9 c3 a9 c3 a9 …");
});
