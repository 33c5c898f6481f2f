// Names that people choose, of themselves and of programmes: others read them, on pages and in mails.

import { type Result, refuse, succeed } from "./fault.ts";

/** Ours: long enough for any name, short enough for a line. */
export const MAX_NAME_LENGTH = 100;

/**
 * What would let a name look like something else: control characters, line separators, those that turn the text
 * around, and those without width. Not the joiners (U+200C, U+200D), which Persian and Indic names are spelled with.
 */
const MISLEADING = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u;

/** Null for what is no name. White space at the ends is not part of it. */
export function parseName(text: string): string | null {
	const name = text.trim();
	const isName = name.length >= 1 && name.length <= MAX_NAME_LENGTH && !MISLEADING.test(name);
	return isName ? name : null;
}

/** As it is typed into the field `name`. `whose`: for the sentence of a refusal, such as "the partner's". */
export function readName(text: string, whose: string): Result<string> {
	const name = parseName(text);
	if (name !== null) return succeed(name);
	const rule = `Enter ${whose} name, in 1 to ${MAX_NAME_LENGTH} characters, without any that cannot be seen.`;
	return refuse("invalid_name", rule, "name");
}

// What may stand where an e-mail address does. Whether it exists is known when mail arrives.

/** RFC 5321: a path may be 256 characters, two of them angle brackets. */
const MAX_ADDRESS_LENGTH = 254;

/**
 * Beyond what mail servers refuse: characters that are drawn as nothing or turn the text around, and slashes, with which
 * an address could pass for another or for a link. Nothing in it can end a line or a header.
 */
export function isMailAddress(text: string): boolean {
	return (
		text.length <= MAX_ADDRESS_LENGTH &&
		/^[^\s@<>"',;:\\/]+@[^\s@<>"',;:\\/]+\.[^\s@<>"',;:\\/.]+$/.test(text) &&
		!/[\p{Cc}\p{Default_Ignorable_Code_Point}]/u.test(text)
	);
}
