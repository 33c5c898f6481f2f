import assert from "node:assert/strict";
import { test } from "node:test";
import { foldText } from "./folded-text.ts";

test("what people take for the same word folds to the same text", () => {
	const words = [
		["Müller", "MÜLLER", "mu\u0308ller", "Muller"],
		["Straße", "STRASSE", "strasse"],
		["ΟΔΟΣ", "οδος", "οδοσ"],
		["ﬁne", "FINE"],
		["IĞDIR", "ığdır", "iğdir"],
	];
	for (const spellings of words) assert.equal(new Set(spellings.map(foldText)).size, 1, spellings.join(" "));
});

test("what is another word stays another", () => {
	const words = ["a", "b", "ab", "а", "1", "%", "_", "\\", "東京", "京都"];
	assert.equal(new Set(words.map(foldText)).size, words.length);
});
