// Conversions and the history of their moves. No foreign keys here or in what hangs on them: on PostgreSQL each
// costs a lock on the programme's row for every sale, and rows are only written by use cases that have just read
// what they point to.

import type { Generated, Selectable } from "kysely";
import type { DecidedBy, EventType, Move, Reason, Source, Status } from "../../domain/conversion.ts";

/** In minor units: amounts have exactly the currency's digits. Queries must say it in these words to use the index. */
export const BASKET_MINOR = "(cast(replace(basket_value, '.', '') as bigint))";

export interface ConversionsTable {
	id: Generated<number>;
	public_id: string;
	programme_id: number;
	order_id: string;
	event_type: EventType;
	status: Status;
	basket_value: string;
	commission: string;
	network_fee: string;
	currency: string;
	reason: Reason | null;
	test: 0 | 1;
	source: Source;
	/** What the pixel claimed, kept when the server's amount replaced it. */
	pixel_basket_value: string | null;
	/** When the shop's server confirmed what a pixel had reported; null before that, and for every other source. */
	confirmed_at_ms: number | null;
	decided_by: DecidedBy | null;
	occurred_at_ms: number;
	/** Rises with the ids: lists find a time by searching the ids. */
	created_at_ms: number;
	/**
	 * When the approval window ends (RECORDED), when the wait for confirmation ends (PARKED) or ended (EXPIRED, where
	 * retention counts from it); null otherwise.
	 */
	window_ends_at_ms: number | null;
	updated_at_ms: number;
	/** When the software it was imported from decided it, where the file said so; null for every other conversion. */
	imported_decision_at_ms: number | null;
}

export type Conversion = Selectable<ConversionsTable>;
export type NewConversion = Omit<Conversion, "id">;

/** Order ids as people look for them, by any part: of conversions, and never written by a query. */
export interface OrderSearchTable {
	/** The conversion's id. */
	rowid: number;
	/** To be compared by LIKE with what is in small letters. */
	order_id: string;
}

/** One row a move: the conversion's history. */
export interface MovesTable {
	id: Generated<number>;
	programme_id: number;
	conversion_id: number;
	move: Move;
	to_status: Status;
	decided_by: DecidedBy | null;
	person_id: number | null;
	reason: Reason | null;
	at_ms: number;
	/** The body of the event it announced, kept when the amounts changed afterwards; else null. */
	announced_body: string | null;
}
