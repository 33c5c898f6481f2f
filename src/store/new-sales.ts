// Calls that report new sales, stored in one statement (postgres/new-sales.ts).

import type { LivedMove } from "../domain/conversion.ts";
import type { EventName } from "../domain/event-name.ts";
import type { NewInboundCall, NewNonce } from "./hot-writes.ts";
import type { ShopTarget } from "./queries/queue.ts";
import type { NewConversion } from "./tables/conversions.ts";

/** The rows of several calls. */
export interface NewSales {
	/** In the order of compareNonces. No nonce may occur twice. */
	nonces: readonly NewNonce[];
	/** In the order of conversions_by_order. No order may occur twice. */
	sales: readonly NewSale[];
	inboundCalls: readonly NewInboundCall[];
}

export interface NewSale extends NewConversion {
	move: LivedMove;
	/** Public id of the delivery; null if the move announces nothing. */
	delivery_public_id: string | null;
	event_name: EventName | null;
	event_body: string | null;
}

/** All rows are stored, or none. */
export type StoredNewSales =
	| {
			kind: "stored";
			/** Ids of the events that are owed, by the public id of the delivery. */
			eventIds: ReadonlyMap<string, number>;
			/** Targets of the programmes that have a Postback URL and an active secret. */
			targets: readonly ShopTarget[];
	  }
	/** One of the nonces was used before, or one of the orders exists. Nothing was stored. */
	| { kind: "conflict" }
	/** `isUncertain` is true if nobody knows whether the rows are stored, because the server's answer is missing. */
	| { kind: "failed"; error: unknown; isUncertain: boolean };
