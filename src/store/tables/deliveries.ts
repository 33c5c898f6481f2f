// Events that are owed, their sending, and every attempt. A receiver is whoever has an endpoint and a signing secret:
// today a programme, whose number it has. Large tables have the programme beside it, so that they can be divided by it.

import type { Generated } from "kysely";
import type { DeliveryState } from "../../domain/delivery.ts";
import type { EventName } from "../../domain/event-name.ts";
import type { Verdict } from "../../domain/verdict.ts";

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
	/** The number of the last row in `attempts`. */
	attempts: number;
	last_verdict: Verdict | null;
	/** The last one received: an attempt without an answer leaves it. */
	last_http_status: number | null;
	created_at_ms: number;
	last_attempt_at_ms: number | null;
	finished_at_ms: number | null;
	/** The same, for those that ended as failed. */
	failed_at_ms: number | null;
	/** 1 of one that failed and nobody need look at: a person has set it aside, or it is of a test conversion. */
	set_aside: number | null;
}

/**
 * What is still to be sent: small rows apart from the cold record, so that results touch few pages. `due_at_ms` is when
 * it may be sent next. Only the engine that owns the programme's slot takes it, and taking it writes nothing here.
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

export type AttemptResult = "answered" | "timeout" | "network-error" | "forbidden-address";

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
	/** The stored part of an answer that is not 2xx (domain/answer-excerpt). */
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
