// Makes password hashing fast in a test process. A real hash takes a fifth of a second of one core on
// purpose, and hundreds of tests only need a person who is signed in. scrypt still runs, at its lowest cost.
// The replacement fails if the service asks for other parameters than it should.

import { deepEqual } from "node:assert/strict";
import crypto, { type BinaryLike, type ScryptOptions } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

type Callback = (error: Error | null, key: Buffer) => void;

/** Parameters that the service must use. Each guess costs 32 MB and about 0.2 s. */
const EXPECTED = { cost: 2 ** 15, blockSize: 8, parallelization: 3 };
const LOWEST_COST = 2;

const { scrypt } = crypto;
let hashes = 0;

/** Returns the number of hashes in this process so far. Tests use it to see how much work an answer costs. */
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
	const { cost, blockSize, parallelization } = options;
	deepEqual({ cost, blockSize, parallelization }, EXPECTED, "the service uses other scrypt parameters");
	hashes++;
	scrypt(password, salt, keyBytes, { ...options, cost: LOWEST_COST }, callback);
}

Object.assign(crypto, { scrypt: quickScrypt });
syncBuiltinESMExports();
