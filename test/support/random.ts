// Real randomness for tests that need no seed.

import { randomBytes } from "node:crypto";
import type { Random } from "../../src/ports.ts";

export function createRandom(): Random {
	return {
		bytes: (count) => randomBytes(count),
		hex: (count) => randomBytes(count).toString("hex"),
	};
}
