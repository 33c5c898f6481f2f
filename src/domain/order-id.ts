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

export function parseOrderId(text: string): Result<string> {
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
			`starts or ends with white space (${codePointOf(space)}). Remove it: order ids are compared as they are, and nothing is trimmed.`,
		);
	}
	return succeed(text);
}

function refuseOrder(sentence: string): ReturnType<typeof refuse> {
	return refuse("invalid_field", `orderId ${sentence}`, "orderId", `The order id ${sentence}`);
}

// What people type to find an order: any part of its id, in any case, or the id of a conversion.

export type OrderSearch =
	| { kind: "conversion"; publicId: string }
	/** In small letters. */
	| { kind: "orders"; term: string };

const CONVERSION_ID = /^cnv_([0-9A-Z]{26})$/i;
/** What both databases find by an index of trigrams: shorter parts, and signs alone, are looked for row by row. */
const INDEXED_PART = /[a-z0-9]{3}/;
/** Their case is not folded by every database, or they mean something else in a pattern. */
const ANY_SIGN = /[^\x20-\x7e]|[\\%]/gu;

export function readOrderSearch(text: string): OrderSearch {
	const id = CONVERSION_ID.exec(text.trim())?.[1];
	if (id !== undefined) return { kind: "conversion", publicId: `cnv_${id.toUpperCase()}` };
	return { kind: "orders", term: text.toLowerCase() };
}

export function hasOrder(orderId: string, term: string): boolean {
	return orderId.toLowerCase().includes(term);
}

/** For LIKE: whatever has the term in it fits, and perhaps a little more. Null where no index helps. */
export function indexedPattern(term: string): string | null {
	return INDEXED_PART.test(term) ? `%${term.replace(ANY_SIGN, "_")}%` : null;
}
