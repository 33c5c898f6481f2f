// Who did what.

import type { Generated } from "kysely";
import type { Dialect } from "./dialect.ts";

/** Who did what: never changed. */
export interface AuditEntriesTable {
	id: Generated<number>;
	at_ms: number;
	/** Null: the command line, or the service itself. */
	person_id: number | null;
	programme_id: number | null;
	action: string;
	/** The public id or e-mail of what it was done to. */
	subject: string | null;
	detail: string | null;
	/** The network address it came from, of changes to somebody's account. */
	address: string | null;
}

export function auditTables({ selfNumberedId }: Dialect): readonly string[] {
	return [
		`create table audit_entries (
			id ${selfNumberedId}, at_ms bigint not null, person_id bigint, programme_id bigint,
			action text not null, subject text, detail text, address text)`,
		"create index audit_entries_by_programme on audit_entries (programme_id, id)",
		"create index audit_entries_by_person on audit_entries (person_id, id)",
		"create index audit_entries_by_action on audit_entries (action, id)",
		"create index audit_entries_by_time on audit_entries (at_ms, id)",
	];
}
