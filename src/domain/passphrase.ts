// A sealing key under a passphrase, to lie beside the database it opens. Whoever steals a backup can try passphrases as
// fast as their machines let them: scrypt makes each try cost 128 MB and some tenths of a second.

import { scryptSync } from "node:crypto";
import * as z from "zod";
import { openText, SEALING_IV_BYTES, SEALING_KEY_BYTES, sealText } from "./sealing.ts";

/** Characters: four words of a list, or what a password manager makes. */
const LEAST_PASSPHRASE = 12;
export const SALT_BYTES = 16;

/** OWASP's choice for scrypt. */
const COST = 2 ** 17;
const BLOCK_SIZE = 8;
const BOUND_TO = "backup";

/** A file with larger numbers was not made by us, and would only keep the machine busy. */
const powerOfTwo = (most: number) =>
	z
		.int()
		.min(2)
		.max(most)
		.refine((value) => Number.isInteger(Math.log2(value)));

export const SEALED_KEY = z.object({
	/** scrypt's numbers, as they were when it was sealed. */
	cost: powerOfTwo(2 ** 20),
	blockSize: powerOfTwo(16),
	salt: z.string(),
	/** AES-256-GCM, see domain/sealing. */
	sealed: z.string().min(SEALING_IV_BYTES + 1),
});
export type SealedKey = z.infer<typeof SEALED_KEY>;

/** Null when it will do. */
export function judgePassphrase(passphrase: string): string | null {
	if (normalise(passphrase).length >= LEAST_PASSPHRASE) return null;
	return `The passphrase must have at least ${LEAST_PASSPHRASE} characters: anyone who has the backup and guesses it has every signing secret.`;
}

/** `salt` and `iv` must be fresh random bytes. */
export function sealKey(
	passphrase: string,
	key: Uint8Array,
	{ salt, iv }: { salt: Uint8Array; iv: Uint8Array },
): SealedKey {
	const numbers = { cost: COST, blockSize: BLOCK_SIZE, salt: Buffer.from(salt).toString("base64") };
	const text = Buffer.from(key).toString("hex");
	return { ...numbers, sealed: sealText(derive(passphrase, numbers), BOUND_TO, text, iv) };
}

/** Null when the passphrase is another one, or somebody changed it. */
export function openKey(passphrase: string, { sealed, ...numbers }: SealedKey): Uint8Array | null {
	const text = openText(derive(passphrase, numbers), BOUND_TO, sealed);
	return text === null ? null : Buffer.from(text, "hex");
}

function derive(passphrase: string, { cost, blockSize, salt }: Omit<SealedKey, "sealed">): Uint8Array {
	return scryptSync(normalise(passphrase), Buffer.from(salt, "base64"), SEALING_KEY_BYTES, {
		cost,
		blockSize,
		// What scrypt says that it takes, and a little.
		maxmem: 129 * cost * blockSize + 1024 * 1024,
	});
}

/** Keyboards write the same letter in several ways. */
function normalise(passphrase: string): string {
	return passphrase.normalize("NFKC");
}
