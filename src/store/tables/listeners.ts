// Who listens to a programme's events, and what came of them on the listener's machine.

import type { Generated } from "kysely";
import type { EventName } from "../../domain/event-name.ts";
import type { LocalOutcome } from "../../domain/local-answer.ts";

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
