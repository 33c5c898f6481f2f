// Where a list goes on: the same cursor for every list, in the API and in the addresses of pages.

import { hkdfSync } from "node:crypto";
import { openText, SEALING_IV_BYTES, SEALING_KEY_BYTES, sealText } from "./sealing.ts";

/** The position of the last row that was looked at. The next page begins behind it. */
export interface Cursor {
	/** What the list is sorted by; the id itself where that is all. */
	at: number;
	id: number;
}

export interface CursorSeal {
	sealingKey: Uint8Array;
	random: { bytes(count: number): Uint8Array };
}

/** As many as the largest safe integer has. */
const DIGITS = 16;
/** 60 bytes of initialization vector, numbers and tag, which base64 writes without padding. */
const FORM = /^[\w-]{80}$/;

/**
 * Encrypted, because row numbers would tell a shop how many others sell. For the same reason two cursors of one
 * position differ, and all are equally long. `list` names the list and whose it is: a cursor of one list is none in
 * another.
 */
export function writeCursor({ sealingKey, random }: CursorSeal, list: string, { at, id }: Cursor): string {
	const digits = [at, id].map((number) => String(number).padStart(DIGITS, "0")).join("");
	const sealed = sealText(deriveKey(sealingKey), list, digits, random.bytes(SEALING_IV_BYTES));
	return Buffer.from(sealed, "base64").toString("base64url");
}

/** Undefined for what is no cursor of this list. */
export function readCursor(
	{ sealingKey }: Pick<CursorSeal, "sealingKey">,
	list: string,
	text: string | undefined,
): Cursor | undefined {
	// Checked first: the base64 decoder silently drops characters outside its alphabet.
	const digits = text !== undefined && FORM.test(text) ? openText(deriveKey(sealingKey), list, text) : null;
	if (digits === null) return undefined;
	return { at: Number(digits.slice(0, DIGITS)), id: Number(digits.slice(DIGITS)) };
}

/**
 * A key of its own: cursors are made by the million, and must not wear out the one that seals secrets. Random
 * initialization vectors are good for four thousand million of them.
 */
function deriveKey(sealingKey: Uint8Array): Uint8Array {
	return new Uint8Array(hkdfSync("sha256", sealingKey, "", "ringback cursor", SEALING_KEY_BYTES));
}
