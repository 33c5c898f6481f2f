// The shop's own name for an order: any text that can be stored, compared and told from every other one by eye.
// Nothing is trimmed or folded: two ids are the same order when they are the same characters, and an id that could
// pass for another one on a page or in a file is refused where it comes in.

import { type Result, refuse, succeed } from "./fault.ts";
import { codePointOf } from "./visible-text.ts";

export const MAX_ORDER_ID_CHARACTERS = 128;

/** U+FFFD is what a decoder leaves of bytes that were not UTF-8: two orders could become the same one. */
const UNREADABLE = /[\p{Cc}\p{Zl}\p{Zp}\u{FFFD}]/u;

/** The blank Braille pattern is no white space to Unicode, but nobody sees the difference. */
const OUTER_SPACE = /^[\p{White_Space}\u{2800}]|[\p{White_Space}\u{2800}]$/u;

/**
 * What Unicode lets a program draw as nothing: zero-width characters, direction marks, soft hyphens, fillers,
 * variation selectors, tags; and the three marks of annotations, which most programs draw as nothing too. No order
 * needs one. An emoji that is glued together by them is refused for it: whether they are there cannot be seen.
 */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u{FFF9}-\u{FFFB}]/u;

/** How nameAsReplaced ends: a report of that name would stand in the way of the order's next one. */
const REPLACED = / \(cnv_[0-9A-Z]{26}\)$/i;

/** As an order may come in. */
export function parseOrderId(text: string): Result<string> {
	if (!REPLACED.test(text)) return parseKnownOrderId(text);
	return refuseOrder("must not end with the ID of a conversion in brackets. Leave that part out.");
}

/** As it may be looked for: also one that made way for another conversion of the order. */
export function parseKnownOrderId(text: string): Result<string> {
	if (text === "" || [...text].length > MAX_ORDER_ID_CHARACTERS) {
		return refuseOrder(`must have 1 to ${MAX_ORDER_ID_CHARACTERS} characters.`);
	}
	if (UNREADABLE.test(text) || !text.isWellFormed()) {
		return refuseOrder("must not hold control characters, line breaks or broken Unicode. Write it in UTF-8.");
	}
	const invisible = INVISIBLE.exec(text)?.[0];
	if (invisible !== undefined) {
		return refuseOrder(
			`holds a character that cannot be seen (${codePointOf(invisible)}), so it could pass for another order. Remove the character.`,
		);
	}
	const space = OUTER_SPACE.exec(text)?.[0];
	if (space !== undefined) {
		return refuseOrder(
			`starts or ends with white space (${codePointOf(space)}). Remove it: order IDs are compared as they are, and nothing is trimmed.`,
		);
	}
	return succeed(text);
}

function refuseOrder(sentence: string): ReturnType<typeof refuse> {
	return refuse("invalid_field", `orderId ${sentence}`, "orderId", `The order ID ${sentence}`);
}

// What people type to find an order: any part of its id, in any case, or the id of a conversion.

export type OrderSearch =
	| { kind: "conversion"; publicId: string }
	/** In small letters. */
	| { kind: "orders"; term: string };

const CONVERSION_ID = /^cnv_([0-9A-Z]{26})$/i;
/** What both databases find by an index of trigrams: shorter parts, and signs alone, are looked for row by row. */
const TRIGRAM = /(?=([a-z0-9]{3}))/g;
/** All but İ, whose small form is two letters, and the Kelvin sign, whose small form is a plain k. */
const FOLDED = /[\x20-\x7e]+|[^\u0130\u212a]/gu;
/** Their case is not folded by every database, or they mean something else in a pattern. */
const ANY_SIGN = /[^\x20-\x7e]|[\\%]/gu;
/** Together they leave few ids that do not have the whole term. */
const TRIGRAMS_ASKED = 3;

export function readOrderSearch(text: string): OrderSearch {
	const id = CONVERSION_ID.exec(text.trim())?.[1];
	if (id !== undefined) return { kind: "conversion", publicId: `cnv_${id.toUpperCase()}` };
	return { kind: "orders", term: foldCase(text) };
}

export function hasOrder(orderId: string, term: string): boolean {
	return foldCase(orderId).includes(term);
}

/** As many letters as before, so that a pattern or a trigram of them fits what is stored; Σ is the same wherever it stands. */
function foldCase(text: string): string {
	return text.replace(FOLDED, (letters) => letters.toLowerCase()).replaceAll("ς", "σ");
}

/** For LIKE: whatever has the term in it fits, and perhaps a little more. */
export function patternOf(term: string): string {
	return `%${term.replace(ANY_SIGN, "_")}%`;
}

export function trigramsOf(term: string): string[] {
	return [...new Set(term.matchAll(TRIGRAM).map(([, trigram = ""]) => trigram))];
}

/**
 * Which trigrams to ask the index for: those that the fewest of some other ids have. The order number tells orders apart,
 * and `order-` is in all of them: to read through its long lists takes most of the time.
 */
export function rarestOf(trigrams: readonly string[], others: readonly string[]): readonly string[] {
	const commonness = (trigram: string) => others.filter((orderId) => hasOrder(orderId, trigram)).length;
	const counted = trigrams.map((trigram) => ({ trigram, count: commonness(trigram) }));
	return counted
		.toSorted((one, other) => one.count - other.count)
		.slice(0, TRIGRAMS_ASKED)
		.map(({ trigram }) => trigram);
}
