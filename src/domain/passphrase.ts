// Seals the sealing key with a passphrase, so that it can be stored beside the database. A thief of a backup can try
// passphrases as fast as their machines allow. With scrypt each attempt costs 128 MB and some tenths of a second.

import { scryptSync } from "node:crypto";
import * as z from "zod";
import { openText, SEALING_IV_BYTES, SEALING_KEY_BYTES, sealText } from "./sealing.ts";

/** Minimum number of characters. Four words from a list have that many. */
const MIN_PASSPHRASE_CHARACTERS = 12;
export const SALT_BYTES = 16;

/** The parameters that OWASP recommends for scrypt. */
const COST = 2 ** 17;
const BLOCK_SIZE = 8;
const BOUND_TO = "backup";

/**
 * Returns a schema with an upper limit. A file with larger numbers was not made by us and would only keep the machine
 * busy.
 */
const powerOfTwo = (most: number) =>
	z
		.int()
		.min(2)
		.max(most)
		.refine((value) => Number.isInteger(Math.log2(value)));

export const SEALED_KEY = z.object({
	/** The parameters of scrypt at the time of sealing. */
	cost: powerOfTwo(2 ** 20),
	blockSize: powerOfTwo(16),
	salt: z.string(),
	/** Sealed with AES-256-GCM. See domain/sealing.ts. */
	sealed: z.string().min(SEALING_IV_BYTES + 1),
});
export type SealedKey = z.infer<typeof SEALED_KEY>;

/** Returns a sentence about the problem, or null if the passphrase is long enough. */
export function judgePassphrase(passphrase: string): string | null {
	if (normalise(passphrase).length >= MIN_PASSPHRASE_CHARACTERS) return null;
	return `The passphrase must have at least ${MIN_PASSPHRASE_CHARACTERS} characters. Anyone who has the backup and guesses the passphrase has every signing secret.`;
}

/** Seals the key. `salt` and `iv` must be fresh random bytes. */
export function sealKey(
	passphrase: string,
	key: Uint8Array,
	{ salt, iv }: { salt: Uint8Array; iv: Uint8Array },
): SealedKey {
	const numbers = { cost: COST, blockSize: BLOCK_SIZE, salt: Buffer.from(salt).toString("base64") };
	const text = Buffer.from(key).toString("hex");
	return { ...numbers, sealed: sealText(derive(passphrase, numbers), BOUND_TO, text, iv) };
}

/** Returns the key, or null if the passphrase is wrong or the sealed key was changed. */
export function openKey(passphrase: string, { sealed, ...numbers }: SealedKey): Uint8Array | null {
	const text = openText(derive(passphrase, numbers), BOUND_TO, sealed);
	return text === null ? null : Buffer.from(text, "hex");
}

function derive(passphrase: string, { cost, blockSize, salt }: Omit<SealedKey, "sealed">): Uint8Array {
	return scryptSync(normalise(passphrase), Buffer.from(salt, "base64"), SEALING_KEY_BYTES, {
		cost,
		blockSize,
		// The memory that scrypt needs, with a small margin.
		maxmem: 129 * cost * blockSize + 1024 * 1024,
	});
}

/** Normalizes the passphrase, because keyboards encode the same letter in different ways. */
function normalise(passphrase: string): string {
	return passphrase.normalize("NFKC");
}
