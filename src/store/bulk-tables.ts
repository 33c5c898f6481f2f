// The tables of many decisions at once.

import type { Generated } from "kysely";
import type { DecidedBy } from "../domain/conversion.ts";

/**
 * Many decisions at once: storing → uploaded → previewed → applying → done. Whoever works on it holds a claim
 * that lapses, and `done_rows` says how far the present state's work has come.
 */
export interface BulkJobsTable {
	id: Generated<number>;
	public_id: string;
	programme_id: number;
	/** Who asked for it, and in whose name they decide. */
	person_id: number;
	decided_by: Exclude<DecidedBy, "window">;
	source: "file" | "selection";
	file_name: string | null;
	state: BulkState;
	row_count: number;
	done_rows: number;
	claim: string | null;
	claim_until_ms: number;
	created_at_ms: number;
	applied_at_ms: number | null;
	finished_at_ms: number | null;
}

export type BulkState = "storing" | "uploaded" | "previewed" | "applying" | "done";

/** What a row would do (its verdict) and did (its outcome). One that asks for nothing is left alone. */
export type BulkVerdict = "change" | "already" | "refused" | "unknown" | "malformed" | "left";

export interface BulkRowsTable {
	job_id: number;
	seq: number;
	/** The line of the file it stands on; of a selection, its place. */
	line: number;
	/** As written, also when it makes no sense; checked ones are the domain's words. */
	order_id: string;
	event_type: string;
	decision: string;
	reason: string;
	verdict: BulkVerdict | null;
	/** Why not, where it is or was refused. */
	detail: string | null;
	outcome: BulkVerdict | null;
	/** The public id of the conversion it is about. */
	conversion: string | null;
}
