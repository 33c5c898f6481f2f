import { equal } from "node:assert/strict";
import { test } from "node:test";
import { showUnseen } from "./visible-text.ts";

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
