// Order ids are the shop's own. Any text is accepted that can be stored, compared and distinguished from
// every other one by eye. Nothing is trimmed or folded. Two ids are the same order only if their characters
// are the same, and an id that could pass for another one is refused.

import { type Result, refuse, succeed } from "./fault.ts";
import { codePointOf } from "./visible-text.ts";

export const MAX_ORDER_ID_CHARACTERS = 128;

/**
 * U+FFFD is what a decoder makes of bytes that are not UTF-8. Two different orders could become the same
 * text.
 */
const UNREADABLE = /[\p{Cc}\p{Zl}\p{Zp}\u{FFFD}]/u;

/** The blank Braille pattern is not white space in Unicode, but nobody sees the difference. */
const OUTER_SPACE = /^[\p{White_Space}\u{2800}]|[\p{White_Space}\u{2800}]$/u;

/** All white space except the plain space. "10 01" with a no-break space would look like the same with a plain one. */
const OTHER_SPACE = /[[\p{White_Space}\u{2800}]--[ ]]/v;

/**
 * Characters that a program may draw as nothing: zero-width characters, direction marks, soft hyphens,
 * fillers, variation selectors, tags, the three annotation marks, the object replacement character and code points
 * without a character. No order needs one. Emoji that are joined by them are refused, because nobody can see whether
 * they are there.
 */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Unassigned}\u{FFF9}-\u{FFFC}]/u;

/**
 * The ending that nameAsReplaced adds. A reported order of that form could block the next report of the
 * order.
 */
const REPLACED = / \(cnv_[0-9A-Z]{26}\)$/i;

/** Checks an order id of a new report. */
export function parseOrderId(text: string): Result<string> {
	if (!REPLACED.test(text)) return parseKnownOrderId(text);
	return refuseOrder("must not end with the ID of a conversion in brackets. Leave that part out.");
}

/** Checks an order id in a search, which may also be that of a replaced conversion. */
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
	const otherSpace = OTHER_SPACE.exec(text)?.[0];
	if (otherSpace !== undefined) {
		return refuseOrder(
			`holds other white space than plain spaces (${codePointOf(otherSpace)}), so it could pass for another order. Write a plain space.`,
		);
	}
	return succeed(text);
}

function refuseOrder(sentence: string): ReturnType<typeof refuse> {
	return refuse("invalid_field", `orderId ${sentence}`, "orderId", `The order ID ${sentence}`);
}

// Searches: any part of an order id in any case, or the id of a conversion.

export type OrderSearch =
	| { kind: "conversion"; publicId: string }
	/** The search term in lower case. */
	| { kind: "orders"; term: string };

const CONVERSION_ID = /^cnv_([0-9A-Z]{26})$/i;
/** Trigrams that both databases find by an index. Shorter parts and punctuation are searched row by row. */
const TRIGRAM = /(?=([a-z0-9]{3}))/g;
/**
 * All characters except İ, whose lower case has two letters, and the Kelvin sign, whose lower case is a plain
 * k.
 */
const FOLDED = /[\x20-\x7e]+|[^\u0130\u212a]/gu;
/** Characters whose case not every database folds, or that have a meaning in a pattern. */
const ANY_SIGN = /[^\x20-\x7e]|[\\%]/gu;
/** Number of trigrams that are looked up. Together they leave few ids without the whole term. */
const TRIGRAMS_ASKED = 3;

export function readOrderSearch(text: string): OrderSearch {
	const id = CONVERSION_ID.exec(text.trim())?.[1];
	if (id !== undefined) return { kind: "conversion", publicId: `cnv_${id.toUpperCase()}` };
	return { kind: "orders", term: foldCase(text) };
}

export function hasOrder(orderId: string, term: string): boolean {
	return foldCase(orderId).includes(term);
}

/**
 * Folds each character to one character, so that patterns and trigrams match the stored text. Σ is folded the
 * same everywhere.
 */
function foldCase(text: string): string {
	return text.replace(FOLDED, (letters) => letters.toLowerCase()).replaceAll("ς", "σ");
}

/** Returns a LIKE pattern that matches every id with the term in it, and possibly a few more. */
export function patternOf(term: string): string {
	return `%${term.replace(ANY_SIGN, "_")}%`;
}

export function trigramsOf(term: string): string[] {
	return [...new Set(term.matchAll(TRIGRAM).map(([, trigram = ""]) => trigram))];
}

/**
 * Returns the trigrams to look up: those that the fewest of some other ids contain. The order number
 * distinguishes orders, while `order-` is in all of them, and reading its long posting lists would take most
 * of the time.
 */
export function rarestOf(trigrams: readonly string[], others: readonly string[]): readonly string[] {
	const commonness = (trigram: string) => others.filter((orderId) => hasOrder(orderId, trigram)).length;
	const counted = trigrams.map((trigram) => ({ trigram, count: commonness(trigram) }));
	return counted
		.toSorted((one, other) => one.count - other.count)
		.slice(0, TRIGRAMS_ASKED)
		.map(({ trigram }) => trigram);
}
