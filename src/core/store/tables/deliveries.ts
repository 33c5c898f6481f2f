import type { ColumnType, Generated } from "kysely";
import type { DeliveryState } from "../../domain/delivery.ts";
import type { EventName } from "../../domain/event-name.ts";
import type { ReceiverId } from "../../domain/receiver.ts";

/**
 * Each row is an event that is announced to a receiver. It never changes, and each name occurs at most once per
 * conversion and receiver. The delivery is the sending of the event and has the same id.
 */
export interface EventsTable {
	id: Generated<number>;
	/** Public id of the event's delivery. */
	public_id: string;
	receiver_id: ReceiverId;
	/** Conversion that the event is about, or null for a test callback to a partner. */
	conversion_id: number | null;
	name: EventName;
	/**
	 * Values of all fields of the callback except `sentAt`. domain/event.ts composes those of shops, and
	 * domain/partner-event.ts those of partners.
	 */
	body: string;
	created_at_ms: number;
}

/** A column of a view, which nobody can write. */
type Derived<Value> = ColumnType<Value, never, never>;

/** View that derives every delivery from `events`, `queue`, `undelivered` and `attempts`. */
export interface DeliveriesView {
	id: Derived<number>;
	public_id: Derived<string>;
	receiver_id: Derived<ReceiverId>;
	conversion_id: Derived<number | null>;
	name: Derived<EventName>;
	created_at_ms: Derived<number>;
	state: Derived<DeliveryState>;
	/** Number of the run, which starts at 1 and rises with each resend by a person. */
	run: Derived<number>;
	/** Number of the delivery's last attempt, counted over all runs. It is 0 before the first attempt. */
	attempts: Derived<number>;
	/** Time of the next attempt, or null if the delivery is not pending. */
	due_at_ms: Derived<number | null>;
	/** HTTP status of the last answer, which may belong to an earlier attempt than the last one. */
	last_http_status: Derived<number | null>;
	last_attempt_at_ms: Derived<number | null>;
	finished_at_ms: Derived<number | null>;
	/** Equals `finished_at_ms` if the delivery failed, and is null otherwise. */
	failed_at_ms: Derived<number | null>;
	set_aside: Derived<number | null>;
}

/** Each row is a delivery that failed or was cancelled, and was not resent since. */
export interface UndeliveredTable {
	id: number;
	receiver_id: ReceiverId;
	state: "failed" | "cancelled";
	run: number;
	ended_at_ms: number;
	/**
	 * 1 if the delivery failed but needs no attention, because a person has set it aside or it belongs to a test
	 * conversion.
	 */
	set_aside: number | null;
}

/**
 * Each row is a pending delivery, which is still to be sent. It has the id of its event. The row is small, so storing
 * a result touches few pages. `due_at_ms` is the earliest time of the next attempt. Only the engine that owns the
 * receiver's slot reads the row, and reading it writes nothing.
 */
export interface QueueTable {
	id: number;
	receiver_id: ReceiverId;
	due_at_ms: number;
	endpoint_epoch: number;
	run: number;
	/** Number of attempts in this run that count towards the maximum of seven. */
	counted: number;
	/** Number of the delivery's last attempt, counted over all runs. It is 0 before the first attempt. */
	seq: number;
}

export type AttemptResult = "answered" | "timeout" | "network-error" | "forbidden-address";

export interface AttemptsTable {
	delivery_id: number;
	seq: number;
	run: number;
	result: AttemptResult;
	http_status: number | null;
	/** Error message of the system, and the step that failed. For a timeout, it is the step in which the time ran out. */
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

/**
 * Numbers of attempts in each quarter of an hour. Every batch of results adds to them, because counting two million
 * attempts would take too long.
 */
export interface CallbackQuartersTable {
	receiver_id: ReceiverId;
	quarter_ms: number;
	/** Number of attempts that were answered with 2xx. */
	delivered: number;
	/** Number of attempts that had any result other than 2xx. */
	failed: number;
}
