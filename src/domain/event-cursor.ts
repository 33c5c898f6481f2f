// The cursor of a listener: its position in a form that says nothing to the shop and can be handed back.

import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import { type EventPosition, type Gap, stepBack } from "./event-position.ts";

const ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
export const CURSOR_IV_BYTES = 12;
const TAG_BYTES = 16;
/** Room for ten gaps or more, which few moments have; it goes out with every event. */
const TEXT_BYTES = 128;
/** The shortest is ",0,0,0". */
const MOST_GAPS = Math.floor(TEXT_BYTES / 6);
const UNDATED = -1;
const CURSOR_BYTES = CURSOR_IV_BYTES + TEXT_BYTES + TAG_BYTES;

/**
 * A key of its own: cursors are made by the million, and must not wear out the one that seals secrets. Random
 * initialization vectors are good for four thousand million of them.
 */
export function deriveCursorKey(sealingKey: Uint8Array): Uint8Array {
	return new Uint8Array(hkdfSync("sha256", sealingKey, "", "ringback event cursor", KEY_BYTES));
}

/**
 * Encrypted, because row numbers would tell a shop how many others sell, and bound to the programme. For the same
 * reason two cursors of one place differ, and all are equally long. `iv` is random, and used once.
 */
export function writeCursor(
	key: Uint8Array,
	iv: Uint8Array,
	programmeId: number,
	position: EventPosition,
): string {
	const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(boundTo(programmeId));
	const parts = [iv, cipher.update(writeText(position), "utf8"), cipher.final(), cipher.getAuthTag()];
	return Buffer.concat(parts).toString("base64url");
}

function writeText(position: EventPosition): string {
	for (let count = Math.min(position.gaps.length, MOST_GAPS); ; count--) {
		const text = JSON.stringify(listNumbers(stepBack(position, count)));
		// JSON does not mind the white space behind it.
		if (text.length <= TEXT_BYTES) return text.padEnd(TEXT_BYTES);
	}
}

/** Gaps are near the place and near each other in time: the differences are short. */
function listNumbers({ high, gaps }: EventPosition): number[] {
	const newest = Math.max(0, ...gaps.map(({ heldBefore }) => heldBefore ?? 0));
	const offsets = gaps.map(({ first, last, heldBefore }) => [
		high - first,
		last - first,
		heldBefore === null ? UNDATED : newest - heldBefore,
	]);
	return [high, newest, ...offsets.flat()];
}

/** Null for what is no cursor of ours, or another programme's. */
export function readCursor(key: Uint8Array, programmeId: number, cursor: string): EventPosition | null {
	const bytes = Buffer.from(cursor, "base64url");
	// Compared as text, because the decoder takes and leaves out what is not of its alphabet.
	if (bytes.length !== CURSOR_BYTES || bytes.toString("base64url") !== cursor) return null;
	const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, CURSOR_IV_BYTES), {
		authTagLength: TAG_BYTES,
	})
		.setAAD(boundTo(programmeId))
		.setAuthTag(bytes.subarray(-TAG_BYTES));
	try {
		const text = decipher.update(bytes.subarray(CURSOR_IV_BYTES, -TAG_BYTES));
		return parsePosition(JSON.parse(Buffer.concat([text, decipher.final()]).toString("utf8")));
	} catch {
		// A tag that does not match: `final` throws for nothing else, and what we wrote is JSON.
		return null;
	}
}

function parsePosition(json: unknown): EventPosition | null {
	if (!Array.isArray(json) || !json.every((item) => typeof item === "number")) return null;
	const [high, newest, ...offsets] = json;
	if (high === undefined || newest === undefined) return null;
	const gaps: Gap[] = [];
	for (let at = 0; at < offsets.length; at += 3) {
		const [back = 0, length = 0, age = UNDATED] = offsets.slice(at, at + 3);
		const first = high - back;
		gaps.push({ first, last: first + length, heldBefore: age === UNDATED ? null : newest - age });
	}
	return { high, gaps };
}

function boundTo(programmeId: number): Buffer {
	return Buffer.from(`events of programme:${programmeId}`);
}
