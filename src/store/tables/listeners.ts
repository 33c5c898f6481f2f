// Who listens to a programme's events, and what came of them on the listener's machine.

import type { Generated } from "kysely";
import type { EventName } from "../../domain/event-name.ts";
import type { LocalOutcome } from "../../domain/local-answer.ts";
import type { Dialect } from "./dialect.ts";

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

export function listenerTables({ selfNumberedId }: Dialect): readonly string[] {
	return [
		`create table listeners (
			programme_id bigint primary key references programmes(id), seen_at_ms bigint not null,
			closed_at_ms bigint)`,
		`create table local_answers (
			id ${selfNumberedId}, programme_id bigint not null references programmes(id), conversion text not null,
			event text not null, outcome text not null, http_status integer, code text, took_ms integer,
			at_ms bigint not null)`,
		"create index local_answers_by_programme on local_answers (programme_id, id)",
		"create index local_answers_by_conversion on local_answers (conversion, id)",
	];
}
