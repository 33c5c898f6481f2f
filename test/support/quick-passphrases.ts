// Imported by tests that seal and open many backups in one process. Deriving a key from a passphrase takes half a
// second of one core and 128 MB on purpose. Here the same function runs at its lowest cost. It fails if the service
// asks for weaker parameters than it must. It cannot open what another process sealed.

import { equal } from "node:assert/strict";
import crypto, { type BinaryLike, type ScryptOptions } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

/** Parameters that OWASP recommends. */
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
