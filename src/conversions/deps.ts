// What conversion use cases need.

import type { Clock, Random } from "../ports.ts";
import type { Conversion } from "../store/queries/conversions.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { Store } from "../store/store.ts";

/**
 * How many rows work that goes by batches takes in one transaction: enough that a commit's cost disappears, few enough
 * that other writers hardly wait.
 */
export const BATCH_ROWS = 500;

export interface ConversionsDeps {
	store: Store;
	clock: Clock;
	random: Random;
}

/** Use cases run inside the caller's transaction; these are what they need besides it. */
export type InTransaction = Pick<ConversionsDeps, "clock" | "random"> & {
	store: Pick<Store, "writes" | "queue">;
};

/** What became of a request about an order. */
export interface Decided<Outcome extends string> {
	outcome: Outcome;
	conversion: Conversion;
	/** Browser and server agree on the order, or its programme does not park: its pixel works. */
	showsPixelWorks: boolean;
}

/** After the commit the caller tells the engines of it. */
export interface Owing {
	owed: Owed;
}
