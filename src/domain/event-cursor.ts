// The cursor of a listener: its position among the moves, in a form that says nothing to the shop and can be handed
// back.

import { hkdfSync } from "node:crypto";
import { openText, SEALING_KEY_BYTES, sealText } from "./sealing.ts";

/** Behind one move, in the order that `store/announced-moves` reads them in. Zeros: before the first. */
export interface EventPosition {
	transaction: number;
	id: number;
}

/** As many as the largest safe integer has. */
const DIGITS = 16;
/** Of a cursor: 60 bytes of initialization vector, numbers and tag, which base64 writes without padding. */
const CURSOR_FORM = /^[\w-]{80}$/;

/**
 * A key of its own: cursors are made by the million, and must not wear out the one that seals secrets. Random
 * initialization vectors are good for four thousand million of them.
 */
export function deriveCursorKey(sealingKey: Uint8Array): Uint8Array {
	return new Uint8Array(hkdfSync("sha256", sealingKey, "", "ringback event cursor", SEALING_KEY_BYTES));
}

/**
 * Encrypted, because the numbers would tell a shop how many others sell, and bound to the programme. For the same
 * reason two cursors of one position differ, and all are equally long. `iv` is random, and used once.
 */
export function writeCursor(
	key: Uint8Array,
	iv: Uint8Array,
	programmeId: number,
	{ transaction, id }: EventPosition,
): string {
	const digits = [transaction, id].map((number) => String(number).padStart(DIGITS, "0")).join("");
	return Buffer.from(sealText(key, boundTo(programmeId), digits, iv), "base64").toString("base64url");
}

/** Null for what is no cursor of ours, or another programme's. */
export function readCursor(key: Uint8Array, programmeId: number, cursor: string): EventPosition | null {
	// The decoder would take and leave out what is not of its alphabet.
	const digits = CURSOR_FORM.test(cursor) ? openText(key, boundTo(programmeId), cursor) : null;
	if (digits === null) return null;
	return { transaction: Number(digits.slice(0, DIGITS)), id: Number(digits.slice(DIGITS)) };
}

function boundTo(programmeId: number): string {
	return `events of programme:${programmeId}`;
}
