// Imported by what sets people up for a test: hashing a password takes a tenth of a second of one core, as it should,
// and hundreds of tests only want somebody who is signed in. Here it is the same function at its lowest cost, in this
// process alone. It fails when the service asks for less than it must.

import { equal } from "node:assert/strict";
import crypto, { type BinaryLike, type ScryptOptions } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

type Callback = (error: Error | null, key: Buffer) => void;

/** What the service hashes passwords with (better-auth's own numbers): 32 MB and 0.1 s for each guess. */
const MEANT = { N: 16_384, r: 16, p: 1 };
const LOWEST_COST = 2;

const { scrypt } = crypto;
let hashes = 0;

/** In this process so far: what an answer costs, and so about how long it takes. */
export function countHashes(): number {
	return hashes;
}

function quickScrypt(
	password: BinaryLike,
	salt: BinaryLike,
	keyBytes: number,
	options: ScryptOptions,
	callback: Callback,
): void {
	const { N, r, p } = options;
	equal(
		JSON.stringify({ N, r, p }),
		JSON.stringify(MEANT),
		"passwords are hashed at another cost than is meant",
	);
	hashes++;
	scrypt(password, salt, keyBytes, { ...options, N: LOWEST_COST }, callback);
}

Object.assign(crypto, { scrypt: quickScrypt });
syncBuiltinESMExports();
