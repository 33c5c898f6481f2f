// Encrypts the service's sealing keys with a passphrase, so that they can be stored beside the database.
// Somebody who steals a backup can try passphrases as fast as their machines allow. With scrypt, each try
// costs 128 MB and some tenths of a second.

import { scryptSync } from "node:crypto";
import * as z from "zod";
import { openText, SEALING_IV_BYTES, SEALING_KEY_BYTES, sealText } from "./sealing.ts";

/** Minimum number of characters of a passphrase. Four words from a word list have at least as many. */
const MIN_PASSPHRASE_CHARACTERS = 12;
export const SALT_BYTES = 16;

/** Cost N that OWASP recommends for scrypt with this block size. */
const COST = 2 ** 17;
const BLOCK_SIZE = 8;
const BOUND_TO = "backup";

/**
 * Returns a schema for a power of two up to a limit. A file with larger scrypt parameters was not written by this
 * program, and computing its key would only keep the machine busy.
 */
const powerOfTwo = (most: number) =>
	z
		.int()
		.min(2)
		.max(most)
		.refine((value) => Number.isInteger(Math.log2(value)));

export const SEALED_KEY = z.object({
	cost: powerOfTwo(2 ** 20),
	blockSize: powerOfTwo(16),
	salt: z.string(),
	/** The keys in hex, one on each line, encrypted with AES-256-GCM (see domain/sealing.ts). */
	sealed: z.string().min(SEALING_IV_BYTES + 1),
});
export type SealedKey = z.infer<typeof SEALED_KEY>;

/** Returns null if the passphrase is long enough, otherwise a sentence that says what is wrong. */
export function judgePassphrase(passphrase: string): string | null {
	if (normalise(passphrase).length >= MIN_PASSPHRASE_CHARACTERS) return null;
	return `The passphrase must have at least ${MIN_PASSPHRASE_CHARACTERS} characters. Anyone who has the backup and guesses the passphrase has every signing secret.`;
}

/** Encrypts the keys with a passphrase. `salt` and `iv` must be fresh random bytes. */
export function sealKeys(
	passphrase: string,
	keys: readonly Uint8Array[],
	{ salt, iv }: { salt: Uint8Array; iv: Uint8Array },
): SealedKey {
	const numbers = { cost: COST, blockSize: BLOCK_SIZE, salt: Buffer.from(salt).toString("base64") };
	const text = keys.map((key) => Buffer.from(key).toString("hex")).join("\n");
	return { ...numbers, sealed: sealText(derive(passphrase, numbers), BOUND_TO, text, iv) };
}

/** Decrypts the keys. Returns null if the passphrase is wrong or the sealed text was changed. */
export function openKeys(passphrase: string, { sealed, ...numbers }: SealedKey): Uint8Array[] | null {
	const text = openText({ keys: [derive(passphrase, numbers)] }, BOUND_TO, sealed);
	return text === null ? null : text.split("\n").map((line) => Buffer.from(line, "hex"));
}

function derive(passphrase: string, { cost, blockSize, salt }: Omit<SealedKey, "sealed">): Uint8Array {
	return scryptSync(normalise(passphrase), Buffer.from(salt, "base64"), SEALING_KEY_BYTES, {
		cost,
		blockSize,
		// Limit for the memory that scrypt uses, with a small margin.
		maxmem: 129 * cost * blockSize + 1024 * 1024,
	});
}

/** Normalizes the passphrase, because keyboards encode the same letter in different ways. */
function normalise(passphrase: string): string {
	return passphrase.normalize("NFKC");
}
