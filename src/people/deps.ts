// The dependencies of all use cases about accounts.

import type { Clock, Random } from "../ports.ts";
import type { Store } from "../store/store.ts";

export interface AccountsDeps {
	store: Store;
	clock: Clock;
	random: Random;
	/** RINGBACK_SECRET_KEY, which seals stored secrets. Other keys are derived from it. */
	sealingKey: Uint8Array;
}
