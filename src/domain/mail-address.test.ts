import { equal } from "node:assert/strict";
import { test } from "node:test";
import { isMailAddress } from "./mail-address.ts";

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
	["a quoted part", '"help"@network.example', false],
	["too long", `${"a".repeat(254)}@network.example`, false],
];

for (const [what, text, isOne] of CASES) {
	test(`${what} ${isOne ? "is" : "is no"} address`, () => equal(isMailAddress(text), isOne));
}
