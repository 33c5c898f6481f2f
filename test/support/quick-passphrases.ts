// Makes passphrases fast in tests that seal and open many backups in one process. Deriving a key from a passphrase
// takes half a second of one core and 128 MB on purpose. This replacement runs the same function at its lowest cost,
// and fails if the service asks for weaker parameters than required. It cannot open a backup that another process
// sealed.

import { equal } from "node:assert/strict";
import crypto, { type BinaryLike, type ScryptOptions } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

/** Parameters that OWASP recommends, which the service must use. */
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
