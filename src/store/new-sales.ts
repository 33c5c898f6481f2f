// Types for calls that report new sales and are stored by one statement (postgres/new-sales.ts).

import type { LivedMove } from "../domain/conversion.ts";
import type { CreditWord } from "../domain/credit.ts";
import type { EventName } from "../domain/event-name.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import type { NewInboundCall, NewNonce } from "./hot-writes.ts";
import type { CallbackTarget } from "./queries/queue.ts";
import type { NewConversion } from "./tables/conversions.ts";

/** Rows to store for a batch of calls. */
export interface NewSales {
	/** Nonces in the order of compareNonces. No nonce may occur twice. */
	nonces: readonly NewNonce[];
	/** Sales in the order of the index conversions_by_order. No order may occur twice. */
	sales: readonly NewSale[];
	inboundCalls: readonly NewInboundCall[];
}

/** Columns of the sale's credit. All are null if the report cannot credit anybody. */
export interface SaleCredit {
	credit_partnership_id: number | null;
	credit_word: CreditWord | null;
	credit_link_id: number | null;
	credit_clicked_at_ms: number | null;
	credit_sub_1: string | null;
	credit_sub_2: string | null;
	credit_sub_3: string | null;
}

/** Columns of a sale that cannot credit anybody. */
export const NO_CREDIT: SaleCredit = {
	credit_partnership_id: null,
	credit_word: null,
	credit_link_id: null,
	credit_clicked_at_ms: null,
	credit_sub_1: null,
	credit_sub_2: null,
	credit_sub_3: null,
};

export interface NewSale extends NewConversion, SaleCredit {
	move: LivedMove;
	/** Public id of the delivery, or null if no event is sent for the sale. */
	delivery_public_id: string | null;
	event_name: EventName | null;
	event_body: string | null;
	/** Public id of the delivery to the credited partner, or null if the sale credits nobody. */
	partner_delivery_public_id: string | null;
	/** The event for the partner without its last lines, which the statement appends (`startPartnerEvent`). */
	partner_event_start: string | null;
}

/** An event that was stored and must be sent. */
export interface StoredEvent {
	id: number;
	receiverId: ReceiverId;
	endpointEpoch: number;
	/** The stored body of a partner's event, or null for a shop's event, whose body the caller knows. */
	body: string | null;
}

/** Result of storing a batch. Either all rows are stored or none is. */
export type StoredNewSales =
	| {
			kind: "stored";
			/** The events that must be sent, by the public id of the delivery. */
			events: ReadonlyMap<string, StoredEvent>;
			/** Callback targets of the receivers that have a URL and an active secret. */
			targets: readonly CallbackTarget[];
	  }
	/** One of the nonces was used before, or one of the orders exists. Nothing was stored. */
	| { kind: "conflict" }
	/** `isUncertain` is true if the server's answer is missing, so that the rows may or may not be stored. */
	| { kind: "failed"; error: unknown; isUncertain: boolean };
