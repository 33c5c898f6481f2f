// The cursor of a listener: its position in a form that says nothing to the shop and can be handed back.

import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import type { EventPosition, Gap } from "./event-position.ts";

export interface CursorKeys {
	encryption: Uint8Array;
	synthesis: Uint8Array;
}

const ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Several times the longest of ours; a stranger's is not even opened. */
const MAX_CURSOR_CHARACTERS = 4_096;

/** Keys of their own: cursors are made by the million, and must not wear out the one that seals secrets. */
export function deriveCursorKeys(sealingKey: Uint8Array): CursorKeys {
	const bytes = new Uint8Array(hkdfSync("sha256", sealingKey, "", "ringback event cursor", 2 * KEY_BYTES));
	return { encryption: bytes.subarray(0, KEY_BYTES), synthesis: bytes.subarray(KEY_BYTES) };
}

/**
 * Encrypted, because row numbers would tell a shop how many others sell, and bound to the programme. The same
 * position gives the same cursor: its initialization vector is a digest of what it says.
 */
export function writeCursor(keys: CursorKeys, programmeId: number, { high, gaps }: EventPosition): string {
	const text = JSON.stringify([high, ...gaps.map(({ first, last, beforeMs }) => [first, last, beforeMs])]);
	const iv = createHmac("sha256", keys.synthesis)
		.update(`${programmeId} ${text}`)
		.digest()
		.subarray(0, IV_BYTES);
	const cipher = createCipheriv(ALGORITHM, keys.encryption, iv).setAAD(boundTo(programmeId));
	const parts = [iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
	return Buffer.concat(parts).toString("base64url");
}

/** Null for what is no cursor of ours, or another programme's. */
export function readCursor(keys: CursorKeys, programmeId: number, cursor: string): EventPosition | null {
	if (cursor.length > MAX_CURSOR_CHARACTERS || !/^[\w-]+$/.test(cursor)) return null;
	const bytes = Buffer.from(cursor, "base64url");
	if (bytes.length < IV_BYTES + TAG_BYTES) return null;
	const decipher = createDecipheriv(ALGORITHM, keys.encryption, bytes.subarray(0, IV_BYTES), {
		authTagLength: TAG_BYTES,
	})
		.setAAD(boundTo(programmeId))
		.setAuthTag(bytes.subarray(-TAG_BYTES));
	try {
		const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
		return parsePosition(JSON.parse(Buffer.concat([text, decipher.final()]).toString("utf8")));
	} catch {
		// A tag that does not match: `final` throws for nothing else, and what we wrote is JSON.
		return null;
	}
}

function parsePosition(json: unknown): EventPosition | null {
	if (!Array.isArray(json)) return null;
	const [high, ...rest]: unknown[] = json;
	const gaps = rest.map(parseGap);
	if (typeof high !== "number" || gaps.some((gap) => gap === null)) return null;
	return { high, gaps: gaps.filter((gap) => gap !== null) };
}

function parseGap(json: unknown): Gap | null {
	if (!Array.isArray(json)) return null;
	const [first, last, beforeMs]: unknown[] = json;
	const areNumbers = typeof first === "number" && typeof last === "number" && typeof beforeMs === "number";
	return areNumbers ? { first, last, beforeMs } : null;
}

function boundTo(programmeId: number): Buffer {
	return Buffer.from(`events of programme:${programmeId}`);
}
