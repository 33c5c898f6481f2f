// Cursors mark the position at which the next page of a list starts. All lists of the API and of the pages
// use them.

import { CURSOR_USE, type KeyRing } from "./key-ring.ts";
import { openText, SEALING_IV_BYTES, sealText } from "./sealing.ts";

/** Position of the last row on a page. The next page begins after it. */
export interface Cursor {
	/** Value by which the list is sorted. It is the row's id if the list is sorted by id. */
	at: number;
	id: number;
}

export interface CursorSeal {
	keyRing: Pick<KeyRing, "derive">;
	random: { bytes(count: number): Uint8Array };
}

/** Number of digits of the largest safe integer. */
const DIGITS = 16;
/** Form of a cursor: 60 bytes (initialization vector, numbers and tag) in base64 without padding. */
const FORM = /^[\w-]{80}$/;

/**
 * Encrypts a position, because row numbers would reveal to a shop how much other shops sell. For the same
 * reason two cursors of the same position differ, and all cursors have the same length. `list` names the list
 * and its owner, so the cursor works only in that list. Cursors have a key of their own, because GCM with random
 * initialization vectors is safe for about four billion uses of a key. Cursors are created by the million and must not
 * use up the key that seals secrets.
 */
export function writeCursor({ keyRing, random }: CursorSeal, list: string, { at, id }: Cursor): string {
	const digits = [at, id].map((number) => String(number).padStart(DIGITS, "0")).join("");
	const [key] = keyRing.derive(CURSOR_USE);
	const sealed = sealText(key, list, digits, random.bytes(SEALING_IV_BYTES));
	return Buffer.from(sealed, "base64").toString("base64url");
}

/** Decrypts a cursor. Returns undefined if the text is not a cursor of this list. */
export function readCursor(
	{ keyRing }: Pick<CursorSeal, "keyRing">,
	list: string,
	text: string | undefined,
): Cursor | undefined {
	// The form is checked first, because the base64 decoder silently drops characters outside its alphabet.
	if (text === undefined || !FORM.test(text)) return undefined;
	const digits = openText({ keys: keyRing.derive(CURSOR_USE) }, list, text);
	if (digits === null) return undefined;
	return { at: Number(digits.slice(0, DIGITS)), id: Number(digits.slice(DIGITS)) };
}
