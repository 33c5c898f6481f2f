// Where a list goes on: the same cursor for every list, in the API and in the addresses of pages.

import { createCipheriv, createDecipheriv, createHash, hkdfSync } from "node:crypto";

/** The position of the last row that was looked at. The next page begins behind it. */
export interface Cursor {
	/** What the list is sorted by; the id itself where that is all. */
	at: number;
	id: number;
}

const KEY_BYTES = 32;
/** 48 bits: times until the year 10,889, and more rows than any of our tables will have. */
const NUMBER_BYTES = 6;
const MARK_BYTES = 4;
const BLOCK_BYTES = 2 * NUMBER_BYTES + MARK_BYTES;

/**
 * Encrypted, because row numbers would tell a shop how many others sell. Always as long, because the length would tell
 * it too. It is exactly one block of the cipher, so ECB repeats nothing and needs no initialization vector. Nothing
 * depends on who wrote a cursor: it names a position in a list that its reader may see from end to end.
 *
 * `list` names the list and whose it is: a cursor of one list is none in another.
 */
export function writeCursor(sealingKey: Uint8Array, list: string, { at, id }: Cursor): string {
	const block = Buffer.alloc(BLOCK_BYTES);
	block.writeUIntBE(at, 0, NUMBER_BYTES);
	block.writeUIntBE(id, NUMBER_BYTES, NUMBER_BYTES);
	markOf(list).copy(block, 2 * NUMBER_BYTES);
	const cipher = createCipheriv("aes-256-ecb", deriveKey(sealingKey), null).setAutoPadding(false);
	return Buffer.concat([cipher.update(block), cipher.final()]).toString("base64url");
}

/** Undefined for what is no cursor of this list: people then see its beginning. */
export function readCursor(
	sealingKey: Uint8Array,
	list: string,
	text: string | undefined,
): Cursor | undefined {
	const sealed = Buffer.from(text ?? "", "base64url");
	if (sealed.length !== BLOCK_BYTES || sealed.toString("base64url") !== text) return undefined;
	const decipher = createDecipheriv("aes-256-ecb", deriveKey(sealingKey), null).setAutoPadding(false);
	const block = Buffer.concat([decipher.update(sealed), decipher.final()]);
	if (!block.subarray(2 * NUMBER_BYTES).equals(markOf(list))) return undefined;
	return { at: block.readUIntBE(0, NUMBER_BYTES), id: block.readUIntBE(NUMBER_BYTES, NUMBER_BYTES) };
}

/** A key of its own: the one that seals secrets is used for nothing else. */
function deriveKey(sealingKey: Uint8Array): Uint8Array {
	return new Uint8Array(hkdfSync("sha256", sealingKey, "", "ringback list cursor", KEY_BYTES));
}

function markOf(list: string): Buffer {
	return createHash("sha256").update(list).digest().subarray(0, MARK_BYTES);
}
