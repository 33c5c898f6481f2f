import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ANY_CHARACTER } from "../../../test/support/any-character.ts";
import { nameAsReplaced } from "./conversion.ts";
import { plainWords } from "./fault.ts";
import { ID_RANDOM_BYTES, makeId } from "./id.ts";
import {
	hasOrder,
	MAX_ORDER_ID_CHARACTERS,
	parseKnownOrderId,
	parseOrderId,
	patternOf,
	rarestOf,
	readOrderSearch,
	trigramsOf,
} from "./order-id.ts";

const TAKEN: readonly string[] = [
	"1",
	"ORDER-1001",
	"test-0a1b2c3d4e",
	"#2026/03 (B2B)",
	"A-1 (cnv_1)",
	"(cnv_01KJ9XMZ00ABCDEFGHJKMNPQRS) A-1",
	"Bücher 1/2",
	"two  spaces inside",
	"注文-42",
	"طلب-42",
	"हिन्दी-42",
	"😀-42",
	"'=1+1",
	"x".repeat(MAX_ORDER_ID_CHARACTERS),
	"😀".repeat(MAX_ORDER_ID_CHARACTERS),
];

const REPLACED = { orderId: "A-1", publicId: makeId("cnv", 0, new Uint8Array(ID_RANDOM_BYTES)) };

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
	["a no-break space inside", "10\u{a0}01", /other white space than plain spaces \(U\+00A0\)/],
	["a narrow no-break space inside", "1\u{202f}001", /other white space than plain spaces \(U\+202F\)/],
	["a blank Braille pattern inside", "1\u{2800}001", /other white space than plain spaces \(U\+2800\)/],
	["a blank Braille pattern at the end", "8001\u{2800}", /white space \(U\+2800\)/],
	["the name of one that was replaced", nameAsReplaced(REPLACED), /ID of a conversion in brackets/],
	["an emoji that is glued together", "👩\u{200d}💻-42", /U\+200D/],
	// Code points of soft hyphen, joiners, direction marks, fillers, variation selectors, tags, annotation marks,
	// the object replacement character, and a code point without a character.
	..."AD 34F 61C 180E 200B 200D 200E 202E 2060 2064 2067 3164 FE0F FEFF FFF9 FFFC 378 E0041 E0100"
		.split(" ")
		.flatMap((hex) => {
			const [unseen, codePoint] = [String.fromCodePoint(Number.parseInt(hex, 16)), hex.padStart(4, "0")];
			return [`${unseen}8001`, `80${unseen}01`, `8001${unseen}`].map(
				(text) => [`U+${codePoint}`, text, new RegExp(`cannot be seen \\(U\\+${codePoint}\\)`)] as const,
			);
		}),
];

describe("an order id", () => {
	test("is accepted unchanged, or refused with advice", () => {
		for (const text of TAKEN) assert.deepEqual(parseOrderId(text), { ok: true, value: text });
		for (const [what, text, sentence] of REFUSED) {
			const parsed = parseOrderId(text);
			assert.ok(!parsed.ok, what);
			assert.deepEqual([parsed.fault.code, parsed.fault.field], ["invalid_field", "orderId"]);
			assert.match(parsed.fault.detail, sentence, what);
			assert.match(parsed.fault.detail, /^orderId /);
			assert.match(plainWords(parsed.fault), /^The order ID /);
		}
		assert.ok(parseKnownOrderId(nameAsReplaced(REPLACED)).ok, "it can be looked for");
	});

	test("that is accepted has no zero-width, direction or format character, and no space at its ends", () => {
		const odd = fc.constantFrom(...REFUSED.map(([, text]) => text), "\u{200c}", "\u{2061}", "\u{2029}", " ");
		const pieces = fc.array(fc.oneof(fc.string({ unit: ANY_CHARACTER }), odd), { maxLength: 4 });
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

test("orders are found by any part of their id, and conversions by their id; the index needs three letters or more", () => {
	const publicId = `cnv_${"01KZ".padEnd(26, "A")}`;
	for (const typed of [publicId, ` ${publicId.toLowerCase()} `]) {
		assert.deepEqual(readOrderSearch(typed), { kind: "conversion", publicId });
	}
	for (const [typed, pattern, trigrams] of [
		["100", "%100%", ["100"]],
		["A-b-1001%", "%a-b-1001_%", ["100", "001"]],
		["é\\200", "%__200%", ["200"]],
		["111111", "%111111%", ["111"]],
		["10", "%10%", []],
		["1-2-3", "%1-2-3%", []],
		["日本語", "%___%", []],
	] as const) {
		const term = typed.toLowerCase();
		assert.deepEqual(readOrderSearch(typed), { kind: "orders", term });
		assert.equal(patternOf(term), pattern);
		assert.deepEqual(trigramsOf(term), trigrams, typed);
	}
});

test("case is folded letter by letter, so an id is found by its whole text and by its parts", () => {
	for (const [orderId, typed, pattern] of [
		["SİPARİŞ-10001", "SİPARİŞ-10001", "%s_par__-10001%"],
		["SİPARİŞ-10001", "sİpar", "%s_par%"],
		["ΜΕΣΟΣ-1001", "ΜΕΣ", "%___%"],
		["ΜΕΣΟΣ-1001", "μεσος-1", "%_____-1%"],
		["\u212A-1001", "\u212A-1001", "%_-1001%"],
	] as const) {
		const search = readOrderSearch(typed);
		assert.ok(search.kind === "orders" && hasOrder(orderId, search.term), typed);
		assert.equal(patternOf(search.term), pattern);
	}
});

test("the index is searched for the trigrams that the fewest other ids contain", () => {
	const others = ["ORDER-1000", "ORDER-1001", "ORDER-1002"];
	assert.deepEqual(rarestOf(trigramsOf("order-1042"), others), ["104", "042", "ord"]);
	assert.deepEqual(rarestOf(["100"], []), ["100"]);
});
