// What account use cases need: the store, the clock, randomness and the key that seals secrets.

import type { Clock, Random } from "../ports.ts";
import type { Store } from "../store/store.ts";

export interface AccountsDeps {
	store: Store;
	clock: Clock;
	random: Random;
	/** Seals signing secrets at rest: RINGBACK_SECRET_KEY. */
	sealingKey: Uint8Array;
}
