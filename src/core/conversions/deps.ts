// Dependencies and common types of the use cases for conversions.

import type { Clock, Random } from "../ports.ts";
import type { Conversion, NewConversion } from "../store/queries/conversions.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { Store } from "../store/store.ts";
import type { ChangeModules } from "./change-module.ts";
import type { DecidedParts } from "./module-facts.ts";

/**
 * Number of rows that background work handles in one transaction. At this size the cost of the commit hardly matters,
 * and other writers hardly wait.
 */
export const BATCH_ROWS = 500;

export interface ConversionsDeps {
	store: Store;
	clock: Clock;
	random: Random;
	changes: ChangeModules;
}

/** Dependencies of use cases that run inside the caller's transaction. */
export type InTransaction = Pick<ConversionsDeps, "clock" | "random" | "changes"> & {
	store: Pick<Store, "batch">;
};

/**
 * Outcome of a request about an order. record.ts may describe the outcome before the row is inserted, and then the
 * conversion has no id yet.
 */
export interface Decided<Outcome extends string, Row extends NewConversion = Conversion>
	extends DecidedParts {
	outcome: Outcome;
	conversion: Row;
	/**
	 * True if this request shows that the pixel works: the shop's server reported an order that the pixel had reported,
	 * or the pixel reported an order in a programme that does not park pixel reports.
	 */
	showsPixelWorks: boolean;
	/** Fields in which a repeated report differs from the conversion on record. */
	differs?: readonly DifferingField[];
}

/**
 * Field names as in the API. The event type is not among them, because a report with another event type is
 * about another conversion.
 */
export const DIFFERING_FIELDS = ["basketValue", "occurredAt", "test"] as const;
export type DifferingField = (typeof DIFFERING_FIELDS)[number];

/** Deliveries that became due. The caller must announce `owed` to the engines after the commit. */
export interface Owing {
	owed: Owed;
}
