// Text for people's eyes: what leaves no mark on a page is written out, so that two texts that look the same do not.

import { isUtf8 } from "node:buffer";

/**
 * Control and format characters, other spaces than the plain one, line separators, the blank Braille pattern, half
 * characters.
 */
const UNSEEN_CHARACTER =
	/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]|(?! )\p{Zs}/u;
/** A plain space only at an end, where it cannot be seen. */
const UNSEEN = new RegExp(`${UNSEEN_CHARACTER.source}|^ +| +$`, "gu");
/** In text of several lines, which may be indented. */
const UNSEEN_IN_LINES = new RegExp(`(?![\\n\\t])(?:${UNSEEN_CHARACTER.source})`, "gu");

/** "A-1" with a no-break space before it becomes "[U+00A0]A-1". For showing alone, never to be stored or compared. */
export function showUnseen(text: string): string {
	return text.replace(UNSEEN, writeOut);
}

/** Or a sentence with order ids in it. A page draws several spaces as one. */
export function showOrderId(text: string): string {
	return showUnseen(text).replace(/ {2,}/g, writeOut);
}

/** Also where only half of it came. */
const WINDOWS_LINE_BREAK = /\r(?:\n|$)/g;
/** What no text has. */
const CONTROLS = /(?![\t\n])\p{Cc}/u;
const NOT_ASCII_TEXT = /[^\n\t\x20-\x7e]/g;
/** In UTF-8. */
const MAX_CHARACTER_BYTES = 4;

/**
 * Bytes that somebody else chose: UTF-8 text as it reads, with line breaks, and what cannot be seen written out as above;
 * of everything else each byte that is not plain ASCII as \x8b. `isCut`: the last character may have lost its end.
 * At most four characters for each byte.
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

/** As Unicode's own tables name it, so that a developer can look for it: U+00A0. */
export function codePointOf(character: string): string {
	return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

export function messageOf(error: unknown): string {
	// When several addresses failed, the messages are in `errors`.
	if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
	return error instanceof Error ? error.message : String(error);
}

// Text as people look for it: "STRASSE", "straße" and "Strasse" are one word to them, and so are "Müller" however it
// was typed and "Muller" on a keyboard without the dots.

/**
 * For comparing alone, never to be shown. Capitals, because small letters depend on their place in a word (a Greek
 * sigma at its end is another one).
 */
export function foldText(text: string): string {
	return text.normalize("NFKD").replace(/\p{M}/gu, "").toUpperCase();
}
