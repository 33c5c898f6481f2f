import { deepEqual, equal, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { contrastOf, GROUNDS, makeTheme, parseColour } from "./colour.ts";

const SHEET = readFileSync(new URL("../web/assets/base.css", import.meta.url), "utf8");

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

/** The corners of the cube and its middle, where neither black nor white is far away, and colours that networks have. */
const COLOURS = [
	..."000000 ffffff ff0000 00ff00 0000ff ffff00 ff00ff 00ffff 808080 777777 767676".split(" "),
	..."ffd400 f58220 e30613 009640 3b4fd8 7d8dff 1a1a1a fafafa c0ffee 0e1116 151a21".split(" "),
].map((digits) => `#${digits}`);

for (const colour of COLOURS) {
	test(`${colour} is readable in both themes, wherever it stands`, () => {
		const { accent, accentHover, accentInk, accentSoft, accentText } = makeTheme(colour);
		for (const half of ["light", "dark"] as const) {
			for (const ground of [...GROUNDS[half], accentSoft[half]]) {
				ok(contrastOf(accentText[half], ground) >= 4.5, `a link on ${ground}, ${half}`);
			}
			for (const ground of GROUNDS[half]) {
				ok(contrastOf(accent[half], ground) >= 3, `a button on ${ground}, ${half}`);
			}
			ok(contrastOf(accentInk[half], accent[half]) >= 4.5, `text on a button, ${half}`);
			ok(
				contrastOf(accentInk[half], accentHover[half]) >= 4.5,
				`text on a button under the pointer, ${half}`,
			);
		}
	});
}

test("a colour that is readable already stays as it was chosen", () => {
	const { accent, accentText } = makeTheme("#3344bd");
	deepEqual([accent.light, accentText.light], ["#3344bd", "#3344bd"]);
});

test("the contrast is WCAG's", () => {
	equal(contrastOf("#000000", "#ffffff"), 21);
	equal(contrastOf("#777777", "#777777"), 1);
	ok(Math.abs(contrastOf("#767676", "#ffffff") - 4.54) < 0.01);
});

test("the grounds are those of the style sheet", () => {
	const names = ["ground", "surface", "raised", "sunken", "good-soft", "warn-soft", "bad-soft", "info-soft"];
	const pairs = names.map((name) => {
		const [, light = "", dark = ""] =
			new RegExp(`--${name}: light-dark\\((#[\\da-f]{6}), (#[\\da-f]{6})\\)`).exec(SHEET) ?? [];
		ok(light !== "", name);
		return { light, dark };
	});
	for (const half of ["light", "dark"] as const) {
		deepEqual(new Set(GROUNDS[half]), new Set(pairs.map((pair) => pair[half])));
	}
});
