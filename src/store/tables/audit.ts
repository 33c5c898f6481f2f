// Who did what.

import type { Generated } from "kysely";

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
