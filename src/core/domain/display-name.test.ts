import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { expectCheap } from "../../../test/support/hostile-texts.ts";
import { foldMailAddress, isMailAddress, MAX_NAME_LENGTH, parseLines, parseName } from "./display-name.ts";

const GOOD = ["Garden & Tools", "Łódź", "北京", "می\u200cخواهم", "shop.example", "x".repeat(MAX_NAME_LENGTH)];
for (const name of GOOD) test(`${JSON.stringify(name)} is a name`, () => equal(parseName(name), name));

const BAD: readonly [what: string, text: string][] = [
	["nothing", "  "],
	["too long", "x".repeat(MAX_NAME_LENGTH + 1)],
	["a line break", "Shop\nBcc: x"],
	["a NUL", "a\0b"],
	["a line separator", "a\u2028b"],
	["turned around", "Shop \u202egnp.exe"],
	["isolated", "a\u2066b\u2069"],
	["a mark of direction", "a\u200fb"],
	["a zero-width space", "pay\u200bpal"],
	["a word joiner", "pay\u2060pal"],
	["a byte-order mark inside", "pay\ufeffpal"],
	["a lone surrogate", "a\ud800b"],
];
for (const [what, text] of BAD) test(`${what} is refused`, () => equal(parseName(text), null));

test("white space at both ends is removed", () => equal(parseName("  Shop \t"), "Shop"));

test("a text of several lines loses empty lines at its ends, and may be empty", () => {
	equal(parseLines("\r\n 1 Main Street \r\n\tParis\n\n", 100), "1 Main Street\nParis");
	equal(parseLines(" \n ", 100), "");
	equal(parseLines("x".repeat(101), 100), null);
	equal(parseLines("a\u202eb", 100), null);
});

test("empty lines between others are kept, and half a megabyte of them takes milliseconds", async () => {
	equal(parseLines("1 Main Street\n\n\nParis", 100), "1 Main Street\n\n\nParis");
	const text = `a${"\n".repeat(512 * 1024)}b`;
	await expectCheap("the text", 300, () => equal(parseLines(text, 100), null));
});

const CASES: readonly [what: string, text: string, isOne: boolean][] = [
	["an ordinary one", "help@network.example", true],
	["with a plus and dots", "first.last+ringback@mail.network.example", true],
	["other scripts", "hilfe@bücher.example", true],
	["no host", "help", false],
	["a host without a dot", "help@localhost", false],
	["two of them", "a@b.example,c@d.example", false],
	["with its name", "Help <help@network.example>", false],
	["a second header", "help@network.example\r\nBcc: all@shop.example", false],
	["a second header in the local part", "help\r\nBcc:x@network.example", false],
	["a tab", "help\t@network.example", false],
	["what turns the text around", "help\u202e@network.example", false],
	["what has no width", "he\u200blp@network.example", false],
	["a link", "https://evil.example/@network.example", false],
	["the Kelvin sign", "\u212aim@network.example", false],
	["full-width letters", "ｈｅｌｐ@network.example", false],
	["a letter and its accent apart", "ele\u0301ne@network.example", false],
	["a quoted part", '"help"@network.example', false],
	["too long", `${"a".repeat(254)}@network.example`, false],
];

for (const [what, text, isOne] of CASES) {
	test(`${what} ${isOne ? "is" : "is not"} an address`, () => equal(isMailAddress(text), isOne));
}

const FOLDED: readonly [what: string, text: string, folded: string][] = [
	["the letters of ASCII", " Kim@Network.EXAMPLE ", "kim@network.example"],
	["letters of other scripts", "MÜLLER@ΠΩΛ.example", "müller@πωλ.example"],
	["the Kelvin sign, which is not a k", "\u212aim@network.example", "\u212aim@network.example"],
	["the Angstrom sign, which is not an å", "\u212bsa@network.example", "\u212bsa@network.example"],
	["İ, which is not an i", "\u0130da@network.example", "\u0130da@network.example"],
];

for (const [what, text, folded] of FOLDED) {
	test(`an address in lower case: ${what}`, () => equal(foldMailAddress(text), folded));
}

test("every capital letter has a lower case of its own in a folded address, or stays as it is", () => {
	const capitals = new Map<string, string>();
	// All letters with a case are in the first two planes of Unicode.
	for (let code = 0; code <= 0x1ffff; code++) {
		const letter = String.fromCodePoint(code);
		if (!/\p{Lu}/u.test(letter)) continue;
		const folded = foldMailAddress(letter);
		equal(capitals.get(folded), undefined, `U+${code.toString(16)}`);
		capitals.set(folded, letter);
		ok(folded === letter || !/\p{Lu}/u.test(folded), `U+${code.toString(16)}`);
	}
	ok(capitals.size > 1_000);
});
