// Hashes passwords with scrypt, and writes the hashes in the PHC string format. Each hash contains its
// parameters, so they can be raised later while older hashes can still be verified.

import { scrypt, timingSafeEqual } from "node:crypto";

export const PASSWORD_SALT_BYTES = 16;
const KEY_BYTES = 32;

interface ScryptParameters {
	logCost: number;
	blockSize: number;
	parallelization: number;
}

/** The minimum parameters that OWASP recommends for scrypt with 32 MB of memory. */
const PARAMETERS: ScryptParameters = { logCost: 15, blockSize: 8, parallelization: 3 };

const BASE64 = "[A-Za-z0-9+/]+";
const STORED = new RegExp(
	`^\\$scrypt\\$ln=(\\d{1,2}),r=(\\d{1,2}),p=(\\d{1,2})\\$(${BASE64})\\$(${BASE64})$`,
);

/** Returns the password's hash in the form to store. `salt` must be fresh random bytes. */
export async function hashPassword(password: string, salt: Uint8Array): Promise<string> {
	const { logCost, blockSize, parallelization } = PARAMETERS;
	const key = await deriveKey(password, salt, KEY_BYTES, PARAMETERS);
	return `$scrypt$ln=${logCost},r=${blockSize},p=${parallelization}$${encode(salt)}$${encode(key)}`;
}

/**
 * Returns whether the password has the stored hash. Throws if the stored text is not a hash of
 * `hashPassword`.
 */
export async function isRightPassword(stored: string, password: string): Promise<boolean> {
	const [, logCost, blockSize, parallelization, salt, key] = STORED.exec(stored) ?? [];
	if (salt === undefined || key === undefined) throw new Error("A stored password hash is malformed.");
	const expected = Buffer.from(key, "base64");
	const parameters = {
		logCost: Number(logCost),
		blockSize: Number(blockSize),
		parallelization: Number(parallelization),
	};
	const actual = await deriveKey(password, Buffer.from(salt, "base64"), expected.length, parameters);
	return timingSafeEqual(actual, expected);
}

function deriveKey(
	password: string,
	salt: Uint8Array,
	keyBytes: number,
	{ logCost, blockSize, parallelization }: ScryptParameters,
): Promise<Buffer> {
	const cost = 2 ** logCost;
	// scrypt needs 128 × cost × block size bytes. The factor two leaves a margin for its other buffers.
	const maxmem = 128 * cost * blockSize * 2;
	// Normalization is needed, because keyboards encode the same character in several ways.
	const text = password.normalize("NFKC");
	return new Promise((resolve, reject) => {
		scrypt(text, salt, keyBytes, { cost, blockSize, parallelization, maxmem }, (error, key) => {
			if (error === null) resolve(key);
			else reject(error);
		});
	});
}

/** Encodes bytes in base64 without padding, as the PHC format requires. */
function encode(bytes: Uint8Array): string {
	return Buffer.from(bytes).toString("base64").replace(/=+$/, "");
}
