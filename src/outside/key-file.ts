// Manages the sealing key beside a SQLite file. The key is created at the first start, and only this account can read
// it.

import { randomBytes } from "node:crypto";
import { chownSync, linkSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { SEALING_KEY_BYTES } from "#core/domain/sealing.ts";
import type { Owner } from "./durable-file.ts";
import { readErrorCode } from "./error-code.ts";

export class KeyFileError extends Error {}

/**
 * Reads the key, or makes one. `owner` is the account that must own a new file, or null for this process's account.
 */
export function readOrMakeKeyFile(
	path: string,
	owner: Owner | null = null,
): { key: Uint8Array; isNew: boolean } {
	const existing = readKeyFile(path);
	if (existing !== null) return { key: existing, isNew: false };
	const fresh = randomBytes(SEALING_KEY_BYTES);
	// The file is written completely before it gets its name. Otherwise a process that starts at the same time could
	// read half a key, and a killed process would leave a file that prevents every later start.
	const draft = `${path}.${randomBytes(4).toString("hex")}`;
	writeFileSync(draft, `${fresh.toString("hex")}\n`, { mode: 0o600, flag: "wx", flush: true });
	try {
		if (owner !== null) chownSync(draft, owner.uid, owner.gid);
		linkSync(draft, path);
		return { key: fresh, isNew: true };
	} catch (error) {
		if (readErrorCode(error) !== "EEXIST") throw error;
		return readOrMakeKeyFile(path, owner);
	} finally {
		unlinkSync(draft);
	}
}

export function readKeyFile(path: string): Uint8Array | null {
	let text: string;
	try {
		text = readFileSync(path, "utf8").trim();
	} catch (error) {
		if (readErrorCode(error) === "ENOENT") return null;
		throw error;
	}
	const key = Buffer.from(text, "hex");
	if (key.length === SEALING_KEY_BYTES && text.length === 2 * SEALING_KEY_BYTES) return key;
	throw new KeyFileError(
		`${path} does not hold a key of ${SEALING_KEY_BYTES} bytes in hex. Restore it from a backup: without it the signing secrets cannot be opened.`,
	);
}
