// What account use cases need: the store, the clock, randomness and the key that seals secrets.

import type { PersonKind } from "../domain/roles.ts";
import type { Clock, Random } from "../ports.ts";
import type { Store } from "../store/store.ts";

export interface AccountsDeps {
	store: Store;
	clock: Clock;
	random: Random;
	/** Seals signing secrets at rest: RINGBACK_SECRET_KEY. */
	sealingKey: Uint8Array;
}

/** Whoever is doing something. */
export interface Actor {
	personId: number;
	kind: PersonKind;
}
