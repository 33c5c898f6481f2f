import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { plainWords } from "./fault.ts";
import { MAX_ORDER_ID_CHARACTERS, parseOrderId } from "./order-id.ts";

const TAKEN: readonly string[] = [
	"1",
	"ORDER-1001",
	"test-0a1b2c3d4e",
	"#2026/03 (B2B)",
	"Bücher 1/2",
	"two  spaces inside",
	// What some languages put between the digits of a number.
	"1\u{202f}001",
	"1\u{a0}001",
	"注文-42",
	"طلب-42",
	"हिन्दी-42",
	"😀-42",
	"'=1+1",
	"x".repeat(MAX_ORDER_ID_CHARACTERS),
	"😀".repeat(MAX_ORDER_ID_CHARACTERS),
];

const REFUSED: readonly (readonly [what: string, text: string, sentence: RegExp])[] = [
	["nothing", "", /1 to 128 characters/],
	["129 characters", "x".repeat(129), /1 to 128 characters/],
	["129 characters of two units each", "😀".repeat(129), /1 to 128 characters/],
	["a NUL", "10\u{0}01", /control characters/],
	["a tab at the end", "1001\t", /control characters/],
	["a line feed", "10\n01", /line breaks/],
	["a line separator", "10\u{2028}01", /line breaks/],
	["a paragraph separator", "10\u{2029}01", /line breaks/],
	["half a character", "1001\u{d83d}", /broken Unicode/],
	["what is left of bytes that were not UTF-8", "caf\u{fffd}", /broken Unicode/],
	["a space in front", " 1001", /white space \(U\+0020\)/],
	["a space at the end", "1001 ", /white space \(U\+0020\)/],
	["only a space", " ", /white space \(U\+0020\)/],
	["a no-break space in front", "\u{a0}8001", /white space \(U\+00A0\)/],
	["a figure space at the end", "8001\u{2007}", /white space \(U\+2007\)/],
	["an ideographic space in front", "\u{3000}8001", /white space \(U\+3000\)/],
	["a blank Braille pattern at the end", "8001\u{2800}", /white space \(U\+2800\)/],
	["a soft hyphen", "80\u{ad}01", /cannot be seen \(U\+00AD\)/],
	["a combining grapheme joiner", "80\u{34f}01", /U\+034F/],
	["an Arabic letter mark", "\u{61c}8001", /U\+061C/],
	["a Hangul filler", "8001\u{3164}", /U\+3164/],
	["a Mongolian vowel separator", "80\u{180e}01", /U\+180E/],
	["a zero-width space", "\u{200b}8001", /U\+200B/],
	["a zero-width joiner", "80\u{200d}01", /U\+200D/],
	["a left-to-right mark", "8001\u{200e}", /U\+200E/],
	["a right-to-left override", "\u{202e}1008", /U\+202E/],
	["a right-to-left isolate", "80\u{2067}01", /U\+2067/],
	["a word joiner", "80\u{2060}01", /U\+2060/],
	["an invisible plus", "80\u{2064}01", /U\+2064/],
	["a byte order mark in front", "\u{feff}8001", /U\+FEFF/],
	["a variation selector", "8001\u{fe0f}", /U\+FE0F/],
	["a variation selector of the second block", "8001\u{e0100}", /U\+E0100/],
	["a tag character", "8001\u{e0041}", /U\+E0041/],
	["an annotation mark", "80\u{fff9}01", /U\+FFF9/],
	["an emoji that is glued together", "👩\u{200d}💻-42", /U\+200D/],
];

describe("an order id", () => {
	for (const text of TAKEN) {
		test(`is taken as it is: ${text.slice(0, 20)}`, () => {
			assert.deepEqual(parseOrderId(text), { ok: true, value: text });
		});
	}

	for (const [what, text, sentence] of REFUSED) {
		test(`is refused with ${what}`, () => {
			const parsed = parseOrderId(text);
			assert.ok(!parsed.ok);
			assert.deepEqual([parsed.fault.code, parsed.fault.field], ["invalid_field", "orderId"]);
			assert.match(parsed.fault.detail, sentence);
			assert.match(parsed.fault.detail, /^orderId /);
			assert.match(plainWords(parsed.fault), /^The order id /);
		});
	}

	test("that is taken holds nothing Unicode calls a zero-width, direction or format-only character, and no outer space", () => {
		const odd = fc.constantFrom(...REFUSED.map(([, text]) => text), "\u{200c}", "\u{2061}", "\u{2029}", " ");
		const pieces = fc.array(fc.oneof(fc.string({ unit: "binary" }), odd), { maxLength: 4 });
		fc.assert(
			fc.property(pieces, (texts) => {
				const text = texts.join("");
				const parsed = parseOrderId(text);
				if (!parsed.ok) return;
				assert.equal(parsed.value, text);
				assert.equal(text.trim(), text);
				assert.doesNotMatch(
					text,
					/[\p{Cc}\p{Bidi_Control}\p{Variation_Selector}\p{Join_Control}\u{200b}\u{feff}]/u,
				);
			}),
			{ numRuns: 2_000 },
		);
	});
});
