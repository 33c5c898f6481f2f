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
