// Text for people to read. Invisible characters are written out, so that two different texts do not look the
// same.

import { isUtf8 } from "node:buffer";

/**
 * Control and format characters, spaces other than the plain one, line separators, the blank Braille pattern,
 * lone surrogates.
 */
const UNSEEN_CHARACTER =
	/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]|(?! )\p{Zs}/u;
/** Invisible characters, and plain spaces at an end, where they cannot be seen. */
const UNSEEN = new RegExp(`${UNSEEN_CHARACTER.source}|^ +| +$`, "gu");
/** The same for text of several lines, which may be indented. */
const UNSEEN_IN_LINES = new RegExp(`(?![\\n\\t])(?:${UNSEEN_CHARACTER.source})`, "gu");

/**
 * Writes out invisible characters: a no-break space before "A-1" becomes "[U+00A0]A-1". The result is for
 * display only.
 */
export function showUnseen(text: string): string {
	return text.replace(UNSEEN, writeOut);
}

/**
 * Also accepts a sentence that contains order ids. Repeated spaces are marked, because a page would draw them
 * as one.
 */
export function showOrderId(text: string): string {
	return showUnseen(text).replace(/ {2,}/g, writeOut);
}

/** A Windows line break, or its first half at the end of the text. */
const WINDOWS_LINE_BREAK = /\r(?:\n|$)/g;
/** Control characters that do not occur in text. */
const CONTROLS = /(?![\t\n])\p{Cc}/u;
const NOT_ASCII_TEXT = /[^\n\t\x20-\x7e]/g;
/** Maximum length of a character in UTF-8. */
const MAX_CHARACTER_BYTES = 4;

/**
 * Makes bytes of unknown origin readable. UTF-8 text is shown with its line breaks and with invisible
 * characters written out; in everything else each byte that is not plain ASCII is shown as \x8b. `isCut` says
 * that the last character may be incomplete. There are at most four characters for each byte.
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
	// If several addresses failed, the messages are in `errors`.
	if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
	return error instanceof Error ? error.message : String(error);
}

// Text for searches. "STRASSE", "straße" and "Strasse" are one word to people, and so are "Müller" in any
// encoding and "Muller".

/**
 * Returns a form for comparisons that is never shown. It uses capitals, because lower case depends on the
 * position in a word (the Greek sigma at its end).
 */
export function foldText(text: string): string {
	return text.normalize("NFKD").replace(/\p{M}/gu, "").toUpperCase();
}
