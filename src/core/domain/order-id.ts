// Order ids are chosen by the shop. Any text is accepted that can be stored and that people can distinguish from
// every other id. White space and case are not changed. Two ids mean the same order only if their characters are the
// same, so an id that looks like another id is refused.

import { type Result, refuse, succeed } from "./fault.ts";
import { codePointOf } from "./visible-text.ts";

export const MAX_ORDER_ID_CHARACTERS = 128;

/**
 * Characters that make an id unreadable. U+FFFD is one of them, because a decoder puts it in place of bytes that are
 * not UTF-8, and two different ids could become the same text.
 */
const UNREADABLE = /[\p{Cc}\p{Zl}\p{Zp}\u{FFFD}]/u;

/**
 * White space at the beginning or end. The blank Braille pattern U+2800 is included, because it looks like a
 * space.
 */
const OUTER_SPACE = /^[\p{White_Space}\u{2800}]|[\p{White_Space}\u{2800}]$/u;

/**
 * White space other than the plain space. For example, "10 01" looks the same with a plain space and with a no-break
 * space.
 */
const OTHER_SPACE = /[[\p{White_Space}\u{2800}]--[ ]]/v;

/**
 * Characters that may be drawn as nothing: zero-width characters, direction marks, soft hyphens, fillers,
 * variation selectors, tags, the three annotation marks, the object replacement character and code points
 * without a character. No order id needs them. Emoji sequences that contain them are refused too, because
 * nobody can see whether the invisible characters are there.
 */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Unassigned}\u{FFF9}-\u{FFFC}]/u;

/**
 * The ending that nameAsReplaced adds to the order id of a replaced conversion. A new order id with this
 * ending is refused, because it could block the next report of the order.
 */
const REPLACED = / \(cnv_[0-9A-Z]{26}\)$/i;

export function parseOrderId(text: string): Result<string> {
	if (!REPLACED.test(text)) return parseKnownOrderId(text);
	return refuseNamed("order", "must not end with the ID of a conversion in brackets. Leave that part out.");
}

/**
 * Checks an order id that is searched for. It may also be the id of a replaced conversion, with its ending.
 */
export function parseKnownOrderId(text: string): Result<string> {
	return parseShopId(text, "order");
}

/** Checks the id that a shop gives to a refund. It follows the same rules as an order id. */
export function parseRefundId(text: string): Result<string> {
	return parseShopId(text, "refund");
}

type Named = "order" | "refund";

function parseShopId(text: string, named: Named): Result<string> {
	const refuseId = (sentence: string) => refuseNamed(named, sentence);
	if (text === "" || [...text].length > MAX_ORDER_ID_CHARACTERS) {
		return refuseId(`must have 1 to ${MAX_ORDER_ID_CHARACTERS} characters.`);
	}
	if (UNREADABLE.test(text) || !text.isWellFormed()) {
		return refuseId("must not hold control characters, line breaks or broken Unicode. Write it in UTF-8.");
	}
	const invisible = INVISIBLE.exec(text)?.[0];
	if (invisible !== undefined) {
		return refuseId(
			`holds a character that cannot be seen (${codePointOf(invisible)}), so it could pass for another ${named}. Remove the character.`,
		);
	}
	const space = OUTER_SPACE.exec(text)?.[0];
	if (space !== undefined) {
		return refuseId(
			`starts or ends with white space (${codePointOf(space)}). Remove it: ${named} IDs are compared as they are, and nothing is trimmed.`,
		);
	}
	const otherSpace = OTHER_SPACE.exec(text)?.[0];
	if (otherSpace !== undefined) {
		return refuseId(
			`holds other white space than plain spaces (${codePointOf(otherSpace)}), so it could pass for another ${named}. Write a plain space.`,
		);
	}
	return succeed(text);
}

function refuseNamed(named: Named, sentence: string): ReturnType<typeof refuse> {
	return refuse("invalid_field", `${named}Id ${sentence}`, `${named}Id`, `The ${named} ID ${sentence}`);
}

// Search terms. A search term is the id of a conversion, or any part of an order id in upper or lower case.

export type OrderSearch =
	| { kind: "conversion"; publicId: string }
	/** `term` is the search term in lower case. */
	| { kind: "orders"; term: string };

const CONVERSION_ID = /^cnv_([0-9A-Z]{26})$/i;
/**
 * Matches the trigrams that both databases can look up in an index. If a search term has no such trigram, because it
 * is short or has only punctuation, every row is searched.
 */
const TRIGRAM = /(?=([a-z0-9]{3}))/g;
/**
 * Characters whose case is folded. İ is excluded because its lower case has two letters, and the Kelvin sign
 * because its lower case is a plain k.
 */
const FOLDED = /[\x20-\x7e]+|[^\u0130\u212a]/gu;
/**
 * Characters that a LIKE pattern replaces by "_", because some databases do not fold their case or they are
 * special in a pattern.
 */
const ANY_SIGN = /[^\x20-\x7e]|[\\%]/gu;
/**
 * Number of trigrams of a search term that are looked up. Few ids contain all of them without containing the whole
 * term.
 */
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
 * Folds the case of each character to exactly one character, so that patterns and trigrams match the stored
 * text. Both lower-case forms of the Greek sigma become the same letter.
 */
function foldCase(text: string): string {
	return text.replace(FOLDED, (letters) => letters.toLowerCase()).replaceAll("ς", "σ");
}

/** Returns a LIKE pattern that matches every id that contains the term, and possibly a few others. */
export function patternOf(term: string): string {
	return `%${term.replace(ANY_SIGN, "_")}%`;
}

export function trigramsOf(term: string): string[] {
	return [...new Set(term.matchAll(TRIGRAM).map(([, trigram = ""]) => trigram))];
}

/**
 * Returns the trigrams to look up, which are the rarest ones in a sample of other ids. A trigram of an order number
 * is rare. The trigrams of a common prefix such as `order-` are in every id, and reading their long posting lists
 * would take most of the time.
 */
export function rarestOf(trigrams: readonly string[], others: readonly string[]): readonly string[] {
	const commonness = (trigram: string) => others.filter((orderId) => hasOrder(orderId, trigram)).length;
	const counted = trigrams.map((trigram) => ({ trigram, count: commonness(trigram) }));
	return counted
		.toSorted((one, other) => one.count - other.count)
		.slice(0, TRIGRAMS_ASKED)
		.map(({ trigram }) => trigram);
}
