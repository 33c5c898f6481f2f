// Many decisions at once.

import type { Generated } from "kysely";
import type { DecidedBy } from "../../domain/conversion.ts";

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
	/** A file, what was ticked on the list, or everything that the list's filters found at that moment. */
	source: "file" | "selection" | "matching";
	file_name: string | null;
	/** The filters of the list it was made from, as they stand in its address. */
	list_query: string | null;
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
	/** The line of the file it stands on; in a selection, its position. */
	line: number;
	/** The conversionId that the line says, and empty where it says none: then the order names the conversion. */
	named_conversion: string;
	/** As written, also when it makes no sense; checked ones are the domain's words. */
	order_id: string;
	event_type: string;
	decision: string;
	reason: string;
	verdict: BulkVerdict | null;
	/** Why not, where it is or was refused. */
	detail: string | null;
	outcome: BulkVerdict | null;
	/** The public id of the conversion that the preview found it to be about: applying decides this one. */
	conversion: string | null;
	/** What is at stake, where it would change something: as the preview found it. */
	basket_value: string | null;
	commission: string | null;
	currency: string | null;
	/** 1 of a test conversion, on which no money hangs. */
	test: number | null;
}
