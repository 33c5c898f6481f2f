// Events that are owed, their sending, and every attempt. A receiver is whoever has an endpoint and a signing secret:
// today a programme, whose number it has. Large tables have the programme beside it, so that they can be divided by it.

import type { Generated } from "kysely";
import type { DeliveryState } from "../../domain/delivery.ts";
import type { EventName } from "../../domain/event-name.ts";
import type { Verdict } from "../../domain/verdict.ts";
import type { Dialect } from "./dialect.ts";

/** An event that is owed to a receiver: immutable, and at most one of each name per conversion and receiver. */
export interface EventsTable {
	id: Generated<number>;
	programme_id: number;
	receiver_id: number;
	conversion_id: number;
	name: EventName;
	/** All fields but sentAt: see domain/event. */
	body: string;
}

/** The sending of an event; shares its id. Narrow, because every attempt rewrites it. */
export interface DeliveriesTable {
	id: number;
	public_id: string;
	programme_id: number;
	receiver_id: number;
	state: DeliveryState;
	/** 1 for the first sending, one more for each resend by hand. */
	run: number;
	/** Rows in `attempts`, interrupted ones included. */
	attempts: number;
	/** How many of them were interrupted: they do not count. */
	interrupted: Generated<number>;
	last_verdict: Verdict | null;
	/** The last one received: an attempt without an answer leaves it. */
	last_http_status: number | null;
	created_at_ms: number;
	last_attempt_at_ms: number | null;
	finished_at_ms: number | null;
	/** The same, for those that ended as failed. */
	failed_at_ms: number | null;
}

/**
 * What is still to be sent: small rows apart from the cold record, so that results touch few pages. `due_at_ms` is when
 * it may be sent next. Only the engine that has the receiver's lane takes it, and taking it writes nothing here.
 */
export interface QueueTable {
	id: number;
	receiver_id: number;
	due_at_ms: number;
	endpoint_epoch: number;
	run: number;
	/** Counted attempts of this run. */
	counted: number;
	/** The number of the last row in `attempts`. */
	seq: number;
}

/**
 * A Postback URL was removed, and what was pending of earlier epochs is not all cancelled yet. One row a receiver, until
 * nothing is left: see cancellations.ts.
 */
export interface CancellationsTable {
	receiver_id: number;
	/** Everything of an earlier epoch goes. */
	epoch: number;
	since_ms: number;
	/** Somebody is at work on it until then. */
	claim_until_ms: number;
}

export type AttemptResult = "answered" | "timeout" | "network-error" | "forbidden-address" | "interrupted";

export interface AttemptsTable {
	delivery_id: number;
	seq: number;
	programme_id: number;
	run: number;
	result: AttemptResult;
	http_status: number | null;
	/** The error in the system's words and where it happened; of a timeout, where the time ran out. */
	detail: string | null;
	started_at_ms: number;
	took_ms: number | null;
	look_up_ms: number | null;
	connect_ms: number | null;
	tls_ms: number | null;
	answer_ms: number | null;
	endpoint_id: number | null;
	nonce: string | null;
	signature: string | null;
	/** What is kept of an answer that is not 2xx (domain/kept-answer). */
	answer: string | null;
}

/** Attempts by the hour, written once for every batch of results: counting two million rows takes too long. */
export interface CallbackHoursTable {
	programme_id: number;
	/** The hour's beginning. */
	hour_ms: number;
	/** Answered 2xx. */
	delivered: number;
	/** Everything else that was sent. */
	failed: number;
}

export function deliveryTables({
	selfNumberedId,
	givenId,
	clustered,
	rewritten,
	churned,
	inPartitions,
}: Dialect): readonly string[] {
	return [
		`create table events (
			id ${selfNumberedId}, programme_id bigint not null, receiver_id bigint not null,
			conversion_id bigint not null, name text not null, body text not null)`,
		"create unique index events_once_per_conversion on events (conversion_id, receiver_id, name)",
		`create table deliveries (
			id ${givenId}, public_id text not null unique, programme_id bigint not null,
			receiver_id bigint not null, state text not null,
			run integer not null, attempts integer not null,
			interrupted integer not null default 0, last_verdict text, last_http_status integer,
			created_at_ms bigint not null, last_attempt_at_ms bigint, finished_at_ms bigint,
			failed_at_ms bigint) ${rewritten}`,
		"create index deliveries_by_receiver on deliveries (receiver_id, id)",
		// On a column of its own: storing a success must not change anything that is indexed, or PostgreSQL
		// writes the row's entry into every index anew.
		`create index deliveries_failed on deliveries (receiver_id, failed_at_ms)
			where failed_at_ms is not null`,
		`create table queue (
			id ${givenId}, receiver_id bigint not null, due_at_ms bigint not null,
			endpoint_epoch integer not null, run integer not null, counted integer not null, seq integer not null) ${churned}`,
		"create index queue_by_due on queue (receiver_id, due_at_ms, id)",
		`create table cancellations (
			receiver_id ${givenId}, epoch integer not null, since_ms bigint not null, claim_until_ms bigint not null) ${churned}`,
		`create table attempts (
			delivery_id bigint not null, seq integer not null, programme_id bigint not null,
			run integer not null, result text not null,
			http_status integer, detail text, started_at_ms bigint not null, took_ms double precision,
			look_up_ms double precision, connect_ms double precision, tls_ms double precision,
			answer_ms double precision, endpoint_id bigint, nonce text, signature text, answer text,
			primary key (delivery_id, seq${inPartitions?.keyColumn("started_at_ms") ?? ""}))
			${inPartitions?.suffix("started_at_ms") ?? clustered}`,
		...(inPartitions?.rest("attempts", "started_at_ms") ?? []),
		`create table callback_hours (
			programme_id bigint not null, hour_ms bigint not null, delivered integer not null, failed integer not null,
			primary key (programme_id, hour_ms)) ${clustered}`,
		"create index callback_hours_by_hour on callback_hours (hour_ms)",
	];
}
