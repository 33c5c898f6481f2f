import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { parseColour } from "./network.ts";

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
