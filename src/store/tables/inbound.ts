// The inbound log.

import type { Generated } from "kysely";
import type { EventName } from "../../domain/event-name.ts";
import type { FaultCode } from "../../domain/fault.ts";
import type { LocalOutcome } from "../../domain/local-answer.ts";

export type InboundKind = "api" | "pixel";

/** Every call that came in, the refused ones too. */
export interface InboundCallsTable {
	id: Generated<number>;
	programme_id: number | null;
	kind: InboundKind;
	method: string;
	target: string;
	/** The outcome word of an accepted call, or the fault's code. */
	outcome: string | FaultCode;
	http_status: number;
	detail: string | null;
	order_id: string | null;
	/** Its public id, which stays when its row gets a new number. */
	conversion: string | null;
	at_ms: number;
}

// Who listens to a programme's events, and what came of them on the listener's machine.

/** One row for each programme that anybody has ever listened to. */
export interface ListenersTable {
	programme_id: number;
	/** When a stream of its events was last known to be open. */
	seen_at_ms: number;
	/** When one was last closed by its reader; null while none was. */
	closed_at_ms: number | null;
}

/** What listeners have told of, the latest last; an event may have several. */
export interface LocalAnswersTable {
	id: Generated<number>;
	programme_id: number;
	/** Its public id, which stays when its row gets a new number. */
	conversion: string;
	event: EventName;
	outcome: LocalOutcome;
	http_status: number | null;
	code: string | null;
	took_ms: number | null;
	at_ms: number;
}
