// Prepares text for people to read. Invisible characters are written out, so that two different texts never
// look the same.

import { isUtf8 } from "node:buffer";

/**
 * Matches one invisible character: control and format characters, spaces other than the plain one, line
 * separators, the blank Braille pattern and lone surrogates.
 */
const UNSEEN_CHARACTER =
	/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]|(?! )\p{Zs}/u;
/**
 * Matches invisible characters, and plain spaces at the beginning or end, where nobody can see them. A search for the
 * spaces at the end starts only where a run of spaces begins. Otherwise long runs elsewhere would take quadratic time.
 */
const UNSEEN = new RegExp(`${UNSEEN_CHARACTER.source}|^ +|(?<! ) +$`, "gu");
/**
 * Matches invisible characters in text of several lines, in which line breaks, tabs and indentation are
 * normal.
 */
const UNSEEN_IN_LINES = new RegExp(`(?![\\n\\t])(?:${UNSEEN_CHARACTER.source})`, "gu");

/**
 * Writes out invisible characters: a no-break space before "A-1" becomes "[U+00A0]A-1". The result is for
 * display only.
 */
export function showUnseen(text: string): string {
	return text.replace(UNSEEN, writeOut);
}

/**
 * Writes out invisible characters in an order id, or in a sentence that contains order ids. Repeated spaces
 * are marked, because a page would show them as one.
 */
export function showOrderId(text: string): string {
	return showUnseen(text).replace(/ {2,}/g, writeOut);
}

/**
 * Matches a Windows line break. A carriage return at the end of the text counts, because the text may be cut
 * there.
 */
const WINDOWS_LINE_BREAK = /\r(?:\n|$)/g;
const CONTROLS = /(?![\t\n])\p{Cc}/u;
const NOT_ASCII_TEXT = /[^\n\t\x20-\x7e]/g;
const MAX_CHARACTER_BYTES = 4;

/**
 * Makes bytes of unknown origin readable. UTF-8 text is shown with its line breaks, and its invisible
 * characters are written out. In all other data each byte that is not plain ASCII is shown in the form \x8b.
 * `isCut` says that the last character may be incomplete. The result has at most four characters for each
 * byte.
 */
export function showBytes(bytes: Uint8Array, isCut = false): string {
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const text = readText(buffer, isCut);
	if (text === null) return buffer.toString("latin1").replace(NOT_ASCII_TEXT, hexEscape);
	return text.replace(UNSEEN_IN_LINES, writeOut);
}

function readText(buffer: Buffer, isCut: boolean): string | null {
	const least = isCut ? Math.max(0, buffer.length - MAX_CHARACTER_BYTES + 1) : buffer.length;
	for (let length = buffer.length; length >= least; length--) {
		const whole = buffer.subarray(0, length);
		if (!isUtf8(whole)) continue;
		const text = whole.toString("utf8").replace(WINDOWS_LINE_BREAK, "\n");
		return CONTROLS.test(text) ? null : text;
	}
	return null;
}

function writeOut(run: string): string {
	return Array.from(run, (character) => `[${codePointOf(character)}]`).join("");
}

function hexEscape(character: string): string {
	return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

/**
 * Returns the code point as Unicode's tables write it, such as U+00A0, so that a developer can look it up.
 */
export function codePointOf(character: string): string {
	return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

export function messageOf(error: unknown): string {
	// If several addresses of a host failed, `errors` has one error for each.
	if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
	return error instanceof Error ? error.message : String(error);
}

// Folds text for searches. To people, "STRASSE", "straße" and "Strasse" are the same word, and so are
// "Müller" in any encoding and "Muller".

/**
 * Returns a form of the text that is only compared and never shown. It is in capitals, because a Greek sigma
 * has two lower-case forms, depending on its position in the word.
 *
 * Combining marks are removed before the text is decomposed, and then those that the decomposition yields. Decomposing
 * sorts the marks of each letter, which takes quadratic time if a letter has thousands of them.
 */
export function foldText(text: string): string {
	const letters = text.replace(/\p{M}/gu, "").normalize("NFKD");
	return letters.replace(/\p{M}/gu, "").toUpperCase();
}
