// What conversion use cases need.

import type { CreditWord, NOT_CREDITING } from "../domain/credit.ts";
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
	/** Who brought it, where the programme credits partners and the shop's server reported it just now. */
	credit?: CreditWord | typeof NOT_CREDITING;
	/** Of a repeated report: what it says otherwise than the conversion on record. */
	differs?: readonly DifferingField[];
}

/** As the API names them. The event type is not among them: with another it is another conversion. */
export const DIFFERING_FIELDS = ["basketValue", "occurredAt", "test"] as const;
export type DifferingField = (typeof DIFFERING_FIELDS)[number];

/** After the commit the caller tells the engines of it. */
export interface Owing {
	owed: Owed;
}
