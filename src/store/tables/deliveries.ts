// Events, their deliveries, and every attempt. A receiver has an endpoint and a signing secret. Today every receiver
// is a programme and has the programme's id. Large tables also have a column for the programme, so that they can be
// partitioned by it later.

import type { Generated } from "kysely";
import type { DeliveryState } from "../../domain/delivery.ts";
import type { EventName } from "../../domain/event-name.ts";
import type { Verdict } from "../../domain/verdict.ts";

/**
 * One row is an event that is announced to a receiver. It never changes, and there is at most one of each name per
 * conversion and receiver.
 */
export interface EventsTable {
	id: Generated<number>;
	programme_id: number;
	receiver_id: number;
	conversion_id: number;
	name: EventName;
	/** All fields of the callback except `sentAt`. See domain/event.ts. */
	body: string;
}

/**
 * One row is the delivery of an event and has the event's id. The rows are narrow, because every attempt rewrites
 * one.
 */
export interface DeliveriesTable {
	id: number;
	public_id: string;
	programme_id: number;
	receiver_id: number;
	state: DeliveryState;
	/** 1 for the first run, and one more for each resend by a person. */
	run: number;
	/** The number of the last row in `attempts`. */
	attempts: number;
	last_verdict: Verdict | null;
	/** Status of the last answer. An attempt without an answer does not change it. */
	last_http_status: number | null;
	created_at_ms: number;
	last_attempt_at_ms: number | null;
	finished_at_ms: number | null;
	/** Equals `finished_at_ms` if the delivery failed, and is null otherwise. */
	failed_at_ms: number | null;
	/**
	 * 1 if the delivery failed and needs no attention, because a person has set it aside or it belongs to a test
	 * conversion.
	 */
	set_aside: number | null;
}

/**
 * One row is a delivery that is still to be sent. These small rows are separate from `deliveries`, so that storing a
 * result touches few pages. `due_at_ms` is the earliest time of the next attempt. Only the engine that owns the
 * programme's slot reads the row, and reading it writes nothing.
 */
export interface QueueTable {
	id: number;
	receiver_id: number;
	due_at_ms: number;
	endpoint_epoch: number;
	run: number;
	/** Number of attempts that count in this run. */
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
	/** Error message of the system and the step that failed. For a timeout, the step that was running. */
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

/** Attempts per hour. Each batch of results updates them, because counting two million attempts would take too long. */
export interface CallbackHoursTable {
	programme_id: number;
	/** Start of the hour. */
	hour_ms: number;
	/** Attempts that were answered with 2xx. */
	delivered: number;
	/** All other attempts. */
	failed: number;
}
