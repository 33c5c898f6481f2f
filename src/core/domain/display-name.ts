// Checks the names that people choose for themselves and for programmes. Others read these names on pages and
// in mails.

import { type Result, refuse, succeed } from "./fault.ts";

/** Maximum length of a name. It is enough for any name, and short enough for one line. */
export const MAX_NAME_LENGTH = 100;

/**
 * Characters that make a name look like something else: control characters, line separators, direction marks
 * and zero-width characters. The joiners U+200C and U+200D are allowed, because Persian and Indic names need
 * them.
 */
const MISLEADING = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u;

export function parseName(text: string): string | null {
	const name = text.trim();
	const isName = name.length >= 1 && name.length <= MAX_NAME_LENGTH && !MISLEADING.test(name);
	return isName ? name : null;
}

/**
 * Returns a text of several lines, such as a postal address, without empty lines at its ends and white space at the ends
 * of its lines. Returns null if it is too long or has characters that mislead its readers.
 */
export function parseLines(text: string, maxLength: number): string | null {
	const lines = text.split(/\r\n|\r|\n/).map((line) => line.trim());
	const isFilled = (line: string) => line !== "";
	const joined = lines.slice(lines.findIndex(isFilled), lines.findLastIndex(isFilled) + 1).join("\n");
	const isGood = joined.length <= maxLength && !lines.some((line) => MISLEADING.test(line));
	return isGood ? joined : null;
}

/** Checks the form field `name`. `whose` is part of the refusal's sentence, for example "the partner's". */
export function readName(text: string, whose: string): Result<string> {
	const name = parseName(text);
	if (name !== null) return succeed(name);
	const rule = `Enter ${whose} name. It may have at most ${MAX_NAME_LENGTH} characters, and none that are invisible.`;
	return refuse("invalid_name", rule, "name");
}

// Checks the form of email addresses. Only a mail that arrives shows whether an address exists.

/** Maximum length of an email address. RFC 5321 allows 256 characters including two angle brackets. */
const MAX_ADDRESS_LENGTH = 254;

/**
 * Returns the address without white space at its ends and in lower case, which is the form in which people are
 * stored and found. A letter stays as it is if its lower case is shared with another letter. So the Kelvin sign does
 * not become a k, and no address turns into the address of somebody else.
 */
export function foldMailAddress(text: string): string {
	return text.trim().replace(/\p{Lu}/gu, (letter) => {
		const lower = letter.toLowerCase();
		return lower.toUpperCase() === letter ? lower : letter;
	});
}

/**
 * Returns whether the text is an acceptable email address. It refuses more than mail servers do: invisible
 * characters, direction marks and slashes, which could make an address look like another one or like a link, and
 * characters that Unicode equates with others, such as the Kelvin sign and full-width letters. An accepted address
 * cannot end a line or a header.
 */
export function isMailAddress(text: string): boolean {
	return (
		text.length <= MAX_ADDRESS_LENGTH &&
		text === text.normalize("NFKC") &&
		/^[^\s@<>"',;:\\/]+@[^\s@<>"',;:\\/]+\.[^\s@<>"',;:\\/.]+$/.test(text) &&
		!/[\p{Cc}\p{Default_Ignorable_Code_Point}]/u.test(text)
	);
}
