import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { pngOf } from "../../test/support/images.ts";
import { judgeLogo, MAX_LOGO_BYTES, parseColour } from "./network.ts";

describe("a colour", () => {
	const GOOD: readonly [text: string, colour: string | null][] = [
		["#3b4fd8", "#3b4fd8"],
		[" 3B4FD8 ", "#3b4fd8"],
		["#fd0", "#ffdd00"],
		["", null],
	];
	for (const [text, value] of GOOD) {
		test(`${JSON.stringify(text)} is read as ${value ?? "no colour, so the default is used"}`, () => {
			deepEqual(parseColour(text), { ok: true, value });
		});
	}

	for (const text of [
		"red",
		"#12",
		"#12345",
		"#1234567",
		"#gggggg",
		"#fff;}body{display:none",
		"var(--bad)",
	]) {
		test(`${JSON.stringify(text)} is refused, because the colour becomes part of a style sheet`, () => {
			equal(parseColour(text).ok, false);
		});
	}
});

test("a file that is not a PNG by its bytes is refused, and so is a truncated one", () => {
	const others = [
		'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
		"<!doctype html><script>alert(1)</script>",
		"GIF89a\u0001\u0000\u0001\u0000",
		`\u0089PNG\r\n\u001a\n${" ".repeat(40)}`,
	].map((text) => Buffer.from(text, "latin1"));
	const cut = Array.from({ length: 33 }, (_, length) => pngOf(64, 28).subarray(0, length));
	for (const bytes of [...others, ...cut]) {
		const judged = judgeLogo(bytes);
		ok(!judged.ok);
		match(judged.fault.detail, /^This is not a PNG picture\./);
	}
});

test("a logo has from 16 to 1,024 pixels in each direction, and at most 256 KB", () => {
	for (const [width, height, isTaken] of [
		[16, 16, true],
		[1_024, 1_024, true],
		[15, 100, false],
		[100, 15, false],
		[1_025, 100, false],
		[100, 1_025, false],
		[0, 0, false],
		[4_294_967_295, 16, false],
	] as const) {
		equal(judgeLogo(pngOf(width, height)).ok, isTaken, `${width} × ${height}`);
	}
	const padded = (bytes: number) => Buffer.concat([pngOf(64, 64)], bytes);
	equal(judgeLogo(padded(MAX_LOGO_BYTES)).ok, true);
	equal(judgeLogo(padded(MAX_LOGO_BYTES + 1)).ok, false);
});
