// Calls that report new sales, stored in one statement (postgres/new-sales.ts).

import type { LivedMove } from "../domain/conversion.ts";
import type { EventName } from "../domain/event-name.ts";
import type { NewInboundCall, NewNonce } from "./hot-writes.ts";
import type { CallbackTarget } from "./queries/queue.ts";
import type { NewConversion } from "./tables/conversions.ts";

/** The rows of several calls. `call` is the number of the call that a row belongs to. */
export interface NewSalesCalls {
	/** In the order of compareNonces. No nonce may occur twice. */
	nonces: readonly (NewNonce & { call: number })[];
	/** In the order of conversions_by_order. No order may occur twice. */
	sales: readonly NewSale[];
	inboundCalls: readonly (NewInboundCall & { call: number })[];
}

export interface NewSale extends NewConversion {
	call: number;
	move: LivedMove;
	/** Public id of the delivery; null if the move announces nothing. */
	delivery_public_id: string | null;
	event_name: EventName | null;
	event_body: string | null;
}

/** The calls of one statement. Nothing is stored for a call that is not new. */
export type StoredNewSales =
	| {
			kind: "stored";
			/** Numbers of the calls that were not stored, because their nonce was used or one of their orders exists. */
			knownCalls: ReadonlySet<number>;
			/** Ids of the events that are owed, by the public id of the delivery. */
			eventIds: ReadonlyMap<string, number>;
			/** Targets of the programmes that have a Postback URL and an active secret. */
			targets: readonly CallbackTarget[];
	  }
	/** Another process stored one of the nonces or orders at the same moment. Nothing was stored. */
	| { kind: "conflict" }
	/** `isUncertain` is true if nobody knows whether the calls are stored, because the server's answer is missing. */
	| { kind: "failed"; error: unknown; isUncertain: boolean };
