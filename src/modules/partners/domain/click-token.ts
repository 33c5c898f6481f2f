// The click ID is an encrypted token that says which partner brought a visitor. Only this installation can
// read or make one. It contains everything that a credit needs, so no row is stored for a click. It stays
// valid after a restart, in other processes, and after old records are removed.
//
//   version 1 · day 2 · IV 12 · AES-256-GCM(programme 4 · partnership 4 · link 4 · ms of the day 4 · 3 × (length 1, sub id)) · tag 16
//
// The numbers are bytes. In base64url a token has 67 characters without sub IDs, and at most 195. Version and
// day determine the key, so a token whose version or day was changed cannot be decrypted.

import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from "node:crypto";
import { clickUse, type KeyRing } from "#core/domain/key-ring.ts";
import { SEALING_IV_BYTES } from "#core/domain/sealing.ts";
import { DAY_MS } from "#core/domain/time.ts";

const ALGORITHM = "aes-256-gcm";
const VERSION = 1;
const HEAD_BYTES = 3;
const TAG_BYTES = 16;
const FIXED_BYTES = 16;
/**
 * Maximum number of cached keys. Each day has its own key, and the longest click window has fewer days than
 * this.
 */
const MAX_KEYS = 500;

/** The three texts that a partner can add to a link to tell its placements apart. */
export type SubIds = readonly [string, string, string];
export const NO_SUB_IDS: SubIds = ["", "", ""];
/** Maximum length of the three sub IDs together, in UTF-8. */
export const MAX_SUB_ID_BYTES = 96;

export interface Click {
	programmeId: number;
	partnershipId: number;
	linkId: number;
	atMs: number;
	subIds: SubIds;
}

/** Decrypted click IDs. A click ID that cannot be decrypted is null. */
export type OpenedClicks = readonly (Click | null)[];

export interface ClickSealer {
	/**
	 * Encrypts a click. `iv` must be fresh random bytes every time, because GCM is broken if an IV is used
	 * twice.
	 */
	seal(click: Click, iv: Uint8Array): string;
	/** Decrypts a click ID. Returns null if this installation did not make it, or if it was changed. */
	open(token: string): Click | null;
}

export function createClickSealer(keyRing: Pick<KeyRing, "derive" | "version">): ClickSealer {
	let keys = new Map<number, readonly KeyObject[]>();
	let { version } = keyRing;
	// All clicks share one buffer, because its content is no longer needed once it is encrypted.
	const plain = Buffer.alloc(FIXED_BYTES + NO_SUB_IDS.length + MAX_SUB_ID_BYTES);

	/** Returns the keys of a day. The first one seals, and the others are those of former sealing keys. */
	function keysOf(day: number): readonly KeyObject[] {
		if (version !== keyRing.version) {
			keys = new Map();
			version = keyRing.version;
		}
		const cached = keys.get(day);
		if (cached !== undefined) return cached;
		const fresh = keyRing.derive(clickUse(day)).map((bytes) => createSecretKey(bytes));
		const [oldest] = keys.keys();
		if (keys.size >= MAX_KEYS && oldest !== undefined) keys.delete(oldest);
		keys.set(day, fresh);
		return fresh;
	}

	return {
		seal({ programmeId, partnershipId, linkId, atMs, subIds }, iv) {
			const day = Math.floor(atMs / DAY_MS);
			plain.writeUInt32BE(programmeId, 0);
			plain.writeUInt32BE(partnershipId, 4);
			plain.writeUInt32BE(linkId, 8);
			plain.writeUInt32BE(atMs % DAY_MS, 12);
			let end = FIXED_BYTES;
			for (const subId of subIds) {
				const size = subId === "" ? 0 : plain.write(subId, end + 1);
				plain.writeUInt8(size, end);
				end += 1 + size;
			}
			const [key] = keysOf(day);
			if (key === undefined) throw new Error("a day has at least one key");
			const cipher = createCipheriv(ALGORITHM, key, iv);
			const sealed = cipher.update(plain.subarray(0, end));
			// This call writes no more bytes, but it computes the authentication tag.
			cipher.final();
			const token = Buffer.allocUnsafe(HEAD_BYTES + SEALING_IV_BYTES + end + TAG_BYTES);
			token.writeUInt8(VERSION, 0);
			token.writeUInt16BE(day, 1);
			token.set(iv, HEAD_BYTES);
			token.set(sealed, HEAD_BYTES + SEALING_IV_BYTES);
			token.set(cipher.getAuthTag(), HEAD_BYTES + SEALING_IV_BYTES + end);
			return token.toString("base64url");
		},

		open(token) {
			const bytes = Buffer.from(token, "base64url");
			// Each token has exactly one spelling. Another text that decodes to the same bytes is refused, because
			// it was not made here.
			if (bytes.length < HEAD_BYTES + SEALING_IV_BYTES + TAG_BYTES || bytes.toString("base64url") !== token) {
				return null;
			}
			if (bytes.readUInt8(0) !== VERSION) return null;
			const day = bytes.readUInt16BE(1);
			for (const key of keysOf(day)) {
				const opened = decrypt(key, bytes.subarray(HEAD_BYTES));
				if (opened !== null) return readClick(day, opened);
			}
			return null;
		},
	};
}

/**
 * Decrypts a token without its head. Returns null if the token was encrypted with another key, or if it was
 * changed.
 */
function decrypt(key: KeyObject, bytes: Buffer): Buffer | null {
	const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, SEALING_IV_BYTES), {
		authTagLength: TAG_BYTES,
	});
	decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
	const opened = decipher.update(bytes.subarray(SEALING_IV_BYTES, -TAG_BYTES));
	try {
		decipher.final();
		return opened;
	} catch {
		// Decryption fails if the authentication tag does not match.
		return null;
	}
}

/**
 * Parses the decrypted bytes of a token. They need no validation, because the tag proves that this
 * installation wrote them.
 */
function readClick(day: number, bytes: Buffer): Click {
	const number = (at: number) => bytes.readUInt32BE(4 * at);
	const subIds: string[] = [];
	for (let at = FIXED_BYTES; at < bytes.length; ) {
		const end = at + 1 + bytes.readUInt8(at);
		subIds.push(bytes.toString("utf8", at + 1, end));
		at = end;
	}
	const [one = "", two = "", three = ""] = subIds;
	return {
		programmeId: number(0),
		partnershipId: number(1),
		linkId: number(2),
		atMs: day * DAY_MS + number(3),
		subIds: [one, two, three],
	};
}

const UNSEEN = /[\p{Cc}\p{Cf}]/u;

/**
 * Returns the sub IDs that go into the click ID. A sub ID with "@" is dropped, because it may be a person's
 * address, which must not reach a shop's log. A sub ID that does not fit into the remaining length is dropped
 * as a whole.
 */
export function keptSubIds(given: readonly (string | null | undefined)[]): SubIds {
	let left = MAX_SUB_ID_BYTES;
	const keep = (text: string | null | undefined) => {
		if (text == null || text.includes("@") || UNSEEN.test(text) || !text.isWellFormed()) return "";
		const size = Buffer.byteLength(text);
		if (size > left) return "";
		left -= size;
		return text;
	};
	return [keep(given[0]), keep(given[1]), keep(given[2])];
}
