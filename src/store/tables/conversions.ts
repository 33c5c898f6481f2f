// Conversions and the history of their moves. No foreign keys here or in what hangs on them: on PostgreSQL each
// costs a lock on the programme's row for every sale, and rows are only written by use cases that have just read
// what they point to.

import type { Generated } from "kysely";
import type { DecidedBy, EventType, Move, Reason, Source, Status } from "../../domain/conversion.ts";
import type { Dialect } from "./dialect.ts";

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
	/** The body of the event it announced, kept when a confirmation changed the amounts afterwards; else null. */
	announced_body: string | null;
}

/** One row at most: the newest move that was archived and removed. Listeners who stopped before it cannot go on. */
export interface FeedStartTable {
	one: 1;
	/** Its place in the order of moves: see `MoveOrder`. */
	at: number;
	move_id: number;
}

export function conversionTables({
	selfNumberedId,
	bytewiseText,
	transactionNumber,
	moveKey,
}: Dialect): readonly string[] {
	return [
		`create table conversions (
			id ${selfNumberedId}, public_id text not null unique, programme_id bigint not null,
			order_id ${bytewiseText} not null, event_type text not null, status text not null,
			basket_value text not null, commission text not null, network_fee text not null, currency text not null,
			reason text, test integer not null, source text not null, pixel_basket_value text,
			confirmed_at_ms bigint, decided_by text, occurred_at_ms bigint not null, created_at_ms bigint not null,
			window_ends_at_ms bigint, updated_at_ms bigint not null, imported_decision_at_ms bigint)`,
		"create unique index conversions_by_order on conversions (programme_id, order_id, event_type)",
		"create index conversions_by_programme on conversions (programme_id, id)",
		// The status comes first because SQLite has no statistics and would otherwise read every open row.
		`create index conversions_by_window on conversions (status, window_ends_at_ms)
			where window_ends_at_ms is not null`,
		// A filtered list is the merge of the buckets that its filter names: see store/conversion-buckets.
		"create index conversions_by_bucket on conversions (programme_id, status, event_type, test, id)",
		"create index conversions_by_status on conversions (status, id)",
		// What people sort by; see store/conversion-order.
		"create index conversions_by_sale on conversions (programme_id, occurred_at_ms, id)",
		`create index conversions_by_basket on conversions (programme_id, ${BASKET_MINOR}, id)`,
		"create index conversions_tests on conversions (programme_id, id) where source = 'test'",
		...transactionNumber,
		`create table moves (
			${moveKey}, programme_id bigint not null, conversion_id bigint not null, move text not null, to_status text not null,
			decided_by text, person_id bigint, reason text, at_ms bigint not null, announced_body text)`,
		"create index moves_by_conversion on moves (conversion_id, id)",
		"create table feed_start (one integer primary key, at bigint not null, move_id bigint not null)",
	];
}
