// Processes that run, as they tell of themselves.

import type { Dialect } from "./dialect.ts";

/** One row a process, from its start to its clean stop; see domain/process. */
export interface ProcessesTable {
	instance: string;
	host: string;
	role: string;
	version: string;
	started_at_ms: number;
	seen_at_ms: number;
	/** Null, with the two that follow, for one that does not deliver. */
	in_hand: number | null;
	programmes_due: number | null;
	oldest_due_at_ms: number | null;
	mail_failed_at_ms: number | null;
	mail_error: string | null;
}

export function processTables({ clustered, rewritten }: Dialect): readonly string[] {
	return [
		`create table processes (
			instance text primary key, host text not null, role text not null, version text not null,
			started_at_ms bigint not null, seen_at_ms bigint not null, in_hand integer, programmes_due integer,
			oldest_due_at_ms bigint, mail_failed_at_ms bigint, mail_error text) ${clustered} ${rewritten}`,
	];
}
