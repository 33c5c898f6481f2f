import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { jpegOf, pngOf, webpOf } from "../../test/support/images.ts";
import { type Image, judgeLogo, MAX_LOGO_BYTES, parseColour, readImage } from "./network.ts";

describe("a colour", () => {
	const GOOD: readonly [text: string, colour: string | null][] = [
		["#3b4fd8", "#3b4fd8"],
		[" 3B4FD8 ", "#3b4fd8"],
		["#fd0", "#ffdd00"],
		["", null],
	];
	for (const [text, value] of GOOD) {
		test(`${JSON.stringify(text)} is ${value ?? "none, and Ringback's own is taken"}`, () => {
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
		test(`${JSON.stringify(text)} is refused: it would stand in a style sheet`, () => {
			equal(parseColour(text).ok, false);
		});
	}
});

const PICTURES: readonly [what: string, bytes: Uint8Array, image: Image][] = [
	["a PNG", pngOf(64, 28), { type: "image/png", width: 64, height: 28 }],
	["a JPEG", jpegOf(300, 120), { type: "image/jpeg", width: 300, height: 120 }],
	[
		"a JPEG with a long comment and fill bytes before its size",
		jpegOf(300, 120, [0xff, 0xff, 0xfe, 0x00, 0x06, 1, 2, 3, 4]),
		{ type: "image/jpeg", width: 300, height: 120 },
	],
	["a lossy WebP", webpOf("VP8 ", 200, 80), { type: "image/webp", width: 200, height: 80 }],
	["a lossless WebP", webpOf("VP8L", 200, 80), { type: "image/webp", width: 200, height: 80 }],
	["an extended WebP", webpOf("VP8X", 1_000, 999), { type: "image/webp", width: 1_000, height: 999 }],
];

for (const [what, bytes, image] of PICTURES) {
	test(`${what} is known by its bytes, with its size`, () => deepEqual(readImage(bytes), image));

	test(`${what} that is cut off anywhere before its size is no picture, and nothing breaks`, () => {
		for (let length = 0; length < 17; length++) equal(readImage(bytes.subarray(0, length)), undefined);
	});
}

describe("what is no picture of ours", () => {
	const OTHERS: readonly [what: string, text: string][] = [
		[
			"an SVG, which can hold a script",
			'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
		],
		["HTML", "<!doctype html><script>alert(1)</script>"],
		["a GIF", "GIF89a\u0001\u0000\u0001\u0000"],
		["text that only begins like a WebP", `RIFF\u0000\u0000\u0000\u0000WEBPVP9 ${" ".repeat(30)}`],
		["nothing", ""],
	];
	for (const [what, text] of OTHERS) {
		test(`${what} is refused`, () => {
			const judged = judgeLogo(Buffer.from(text, "latin1"));
			ok(!judged.ok);
			match(judged.fault.detail, /not a PNG, JPEG or WebP/);
		});
	}
});

test("a logo has from 16 to 1,024 pixels each way, and at most 256 KB", () => {
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
