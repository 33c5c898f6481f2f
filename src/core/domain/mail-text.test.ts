import { doesNotMatch, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { quote } from "./mail-text.ts";

describe("a name in a mail", () => {
	const CASES: readonly [what: string, name: string, quoted: string][] = [
		["an ordinary one stays as it is", "Garden & Tools", '"Garden & Tools"'],
		["other scripts too", "北京 Буки كتاب", '"北京 Буки كتاب"'],
		["a full stop in a sentence", "Mr. Smith Ltd.", '"Mr. Smith Ltd."'],
		["line breaks", "Shop\r\nBcc: all@x.example\n\nHi", '"Shop Bcc: all[at]x[.]example Hi"'],
		["other line separators", "a\u2028b\u2029c\u0085d", '"a b c d"'],
		["turned around", "Shop \u202egnp.exe\u202c \u2066x\u2069", '"Shop gnp[.]exe x"'],
		["zero-width", "pay\u200bpal\ufeff", '"paypal"'],
		["a link", "https://evil.example/x", '"https[:]//evil[.]example/x"'],
		["a link without a scheme", "www.evil.example", '"www[.]evil[.]example"'],
		["a link in wide dots", "evil。example．com", '"evil[.]example[.]com"'],
		["an address of numbers", "1.2.3.4", '"1[.]2[.]3[.]4"'],
		["an e-mail", "me@evil.example", '"me[at]evil[.]example"'],
		["quotation marks", 'x". Your account is locked: “call”', "\"x'. Your account is locked: 'call'\""],
		["a lone surrogate", "a\ud800b", '"a b"'],
		["nothing", " \u200b ", '""'],
	];
	for (const [what, name, quoted] of CASES) test(what, () => equal(quote(name), quoted));

	test("is cut at 60 characters, and never inside one", () => {
		equal(quote("x".repeat(60)), `"${"x".repeat(60)}"`);
		equal(quote("x".repeat(61)), `"${"x".repeat(60)}…"`);
		equal(quote("😀".repeat(70)), `"${"😀".repeat(60)}…"`);
	});

	test("contains nothing that a mail program would turn into a link, wherever it is cut", () => {
		for (let length = 1; length < 80; length++) {
			const text = quote(`${"x".repeat(length)}https://www.evil.example/a@b.example`);
			doesNotMatch(text, /\w\.\w|:\/\/|\w@\w/);
		}
	});
});
