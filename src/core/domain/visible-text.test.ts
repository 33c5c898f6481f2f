import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { expectCheap } from "../../../test/support/hostile-texts.ts";
import { foldText, showBytes, showOrderId, showUnseen } from "./visible-text.ts";

for (const [text, shown] of [
	["\u00a08001", "[U+00A0]8001"],
	["8001\u200b", "8001[U+200B]"],
	["80\u202e01", "80[U+202E]01"],
	["  8001 ", "[U+0020][U+0020]8001[U+0020]"],
	["A\tB", "A[U+0009]B"],
	["A\u2028B", "A[U+2028]B"],
	["A\u3000B", "A[U+3000]B"],
	["A\u2800B", "A[U+2800]B"],
	["A\u{e0061}B", "A[U+E0061]B"],
	["A\ud800B", "A[U+D800]B"],
	["\u00a0\u200b", "[U+00A0][U+200B]"],
] as const) {
	test(`${JSON.stringify(text)} is shown as ${shown}`, () => {
		equal(showUnseen(text), shown);
	});
}

for (const plain of ["", "A 1", "Größe-1", "注文 1", "A\u0301", "😀", "[U+00A0]"]) {
	test(`${JSON.stringify(plain)} is shown as it is`, () => {
		equal(showUnseen(plain), plain);
	});
}

const utf8 = (text: string) => Buffer.from(text, "utf8");

for (const [name, bytes, shown] of [
	["nothing", utf8(""), ""],
	["a page", utf8("<h1>Größe</h1>\r\n\t注文 😀\n"), "<h1>Größe</h1>\n\t注文 😀\n"],
	["unseen characters", utf8("a\u00a0b\u200bc\u202ed"), "a[U+00A0]b[U+200B]c[U+202E]d"],
	["a byte order mark", utf8("\ufeff{}"), "[U+FEFF]{}"],
	["a carriage return alone", utf8("a\rb"), "a\\x0db"],
	["spaces at the ends, as indented text has them", utf8("  a  "), "  a  "],
	["Latin-1", Buffer.from("Größe\n", "latin1"), "Gr\\xf6\\xdfe\n"],
	["gzip", Buffer.from([0x1f, 0x8b, 8, 0, 0, 0x41]), "\\x1f\\x8b\\x08\\x00\\x00A"],
	["NUL in UTF-8", utf8("ä\u0000"), "\\xc3\\xa4\\x00"],
	["a terminal's escape", utf8("\u001b[31mred"), "\\x1b[31mred"],
	["half a character in UTF-16 form", Buffer.from([0xed, 0xa0, 0x80]), "\\xed\\xa0\\x80"],
	["overlong UTF-8", Buffer.from([0xc0, 0xaf]), "\\xc0\\xaf"],
	["a part of a larger buffer", utf8("xxäxx").subarray(2, 4), "ä"],
] as const) {
	test(`bytes that are text are shown as text, and other bytes are not: ${name}`, () => {
		equal(showBytes(bytes), shown);
	});
}

test("an incomplete character at the end is dropped, but only if the text was cut", () => {
	const whole = utf8("ab😀");
	for (const length of [3, 4, 5]) equal(showBytes(whole.subarray(0, length), true), "ab", `${length}`);
	equal(showBytes(whole, true), "ab😀");
	equal(showBytes(whole.subarray(0, 3)), "ab\\xf0");
});

test("the shown text has at most four characters for each byte", () => {
	for (let byte = 0; byte <= 0xff; byte++) ok(showBytes(Buffer.alloc(8, byte)).length <= 32, `${byte}`);
	for (const unseen of ["\u00a0", "\u00ad", "\u0085", "\u200b", "\u2800", "\u{e0061}"]) {
		ok(showBytes(utf8(unseen.repeat(8))).length <= 4 * utf8(unseen.repeat(8)).length, unseen);
	}
});

test("different spellings of one word fold to the same text", () => {
	const words = [
		["Müller", "MÜLLER", "mu\u0308ller", "Muller"],
		["Straße", "STRASSE", "strasse"],
		["ΟΔΟΣ", "οδος", "οδοσ"],
		["ﬁne", "FINE"],
		["IĞDIR", "ığdır", "iğdir"],
	];
	for (const spellings of words) equal(new Set(spellings.map(foldText)).size, 1, spellings.join(" "));
});

test("long runs of spaces and of combining marks take time in proportion to their length", async () => {
	const spaces = `a${" ".repeat(64 * 1024)}b`;
	await expectCheap("spaces", 50, () => equal(showUnseen(spaces), spaces));
	await expectCheap("spaces at the end", 200, () =>
		ok(showOrderId(spaces.slice(0, -1)).endsWith("[U+0020]")),
	);
	// Unicode normalization would have to reorder these two combining marks.
	const marks = `a${"\u0301\u0327".repeat(64 * 1024)}b`;
	await expectCheap("combining marks", 50, () => equal(foldText(marks), "AB"));
});

test("different words stay different", () => {
	const words = ["a", "b", "ab", "а", "1", "%", "_", "\\", "東京", "京都"];
	equal(new Set(words.map(foldText)).size, words.length);
});
