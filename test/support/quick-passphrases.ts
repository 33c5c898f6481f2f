// Imported by tests that seal and open many backups in one process: deriving a key from a passphrase takes half a second
// of a processor and 128 MB, as it should. Here it is the same function at its lowest cost. It fails when the service
// asks for less than it must. What another process sealed cannot be opened with it.

import { equal } from "node:assert/strict";
import crypto, { type BinaryLike, type ScryptOptions } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

/** OWASP's choice. */
const MEANT = { cost: 2 ** 17, blockSize: 8 };
const LOWEST_COST = 2;

const { scryptSync } = crypto;

function quickScrypt(
	passphrase: BinaryLike,
	salt: BinaryLike,
	keyBytes: number,
	options: ScryptOptions,
): Buffer {
	const { cost, blockSize } = options;
	equal(
		JSON.stringify({ cost, blockSize }),
		JSON.stringify(MEANT),
		"keys are sealed at another cost than is meant",
	);
	return scryptSync(passphrase, salt, keyBytes, { ...options, cost: LOWEST_COST });
}

Object.assign(crypto, { scryptSync: quickScrypt });
syncBuiltinESMExports();
