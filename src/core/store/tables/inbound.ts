import type { Generated } from "kysely";
import type { EventName } from "../../domain/event-name.ts";
import type { FaultCode } from "../../domain/fault.ts";
import type { LocalOutcome } from "../../domain/local-answer.ts";
import type { ReceiverId } from "../../domain/receiver.ts";

export type InboundKind = "api" | "pixel";

/** Each row is an inbound call, accepted or refused. */
export interface InboundCallsTable {
	id: Generated<number>;
	programme_id: number | null;
	kind: InboundKind;
	method: string;
	target: string;
	/** Outcome word of an accepted call, or the code of the fault. */
	outcome: string | FaultCode;
	http_status: number;
	detail: string | null;
	order_id: string | null;
	conversion: string | null;
	at_ms: number;
	/** X-Request-Id of the answer, or null if the row is about several calls. */
	request_id: string | null;
}

/** Each row is a receiver whose events somebody has read as a stream. */
export interface ListenersTable {
	receiver_id: ReceiverId;
	/** Last time at which a reader of the receiver's events was seen. */
	seen_at_ms: number;
	/** Last time at which a reader closed a stream, or null. */
	closed_at_ms: number | null;
}

/** Each row is the answer of a listener's own server to an event. An event may have several answers. */
export interface LocalAnswersTable {
	id: Generated<number>;
	receiver_id: ReceiverId;
	conversion: string;
	event: EventName;
	outcome: LocalOutcome;
	http_status: number | null;
	code: string | null;
	took_ms: number | null;
	at_ms: number;
}
