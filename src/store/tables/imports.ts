// Files that staff import: the job, and the lines of its file.

import type { Generated } from "kysely";

/**
 * A file on its way in: storing → uploaded → previewed → applying → done. While it is applied it can be stopped, by a
 * person or because the access of whoever began it ended, and go on from there. Before it is applied it can be
 * discarded; so is what breaks off while it is stored. A discarded one is cleared, and nothing is left of it.
 * Its lines have a life of their own: kept → going → gone. Only while they are kept does the state change. Of one that
 * is done they go after a day; of one that is stopped then, too, or when somebody discards the rest.
 * Whoever works on it holds a claim that lapses, and `done_batches` says how far the present state's work has come.
 */
export interface ImportJobsTable {
	id: Generated<number>;
	public_id: string;
	kind: "programmes" | "people" | "conversions";
	file_name: string;
	/** How large the file was. */
	file_bytes: number;
	/** Who uploaded it. */
	person_id: number;
	/** Who had it brought in, and in whose name that is done. */
	applied_by: number | null;
	state: ImportState;
	/** 1: everybody who is brought in is mailed an invitation. */
	invites: number;
	row_count: number;
	done_rows: number;
	done_batches: number;
	/** What the present state's work has found so far, as JSON: see jobs/summary. */
	summary: string | null;
	/** The lines of its file: while they are kept it can be moved on. */
	lines: "kept" | "going" | "gone";
	/** Why the last batch was not stored, as JSON: see jobs/batch-failure. Null once one is. */
	failure: string | null;
	/** When the access of whoever brought it in, or uploaded it, was ended; null once somebody goes on with it. */
	access_ended_at_ms: number | null;
	claim: string | null;
	claim_until_ms: number;
	created_at_ms: number;
	applied_at_ms: number | null;
	/** When it was done or stopped. */
	finished_at_ms: number | null;
}

export type ImportState =
	| "storing"
	| "uploaded"
	| "previewed"
	| "applying"
	| "stopped"
	| "done"
	| "discarded";

/** A batch of lines, which go in with one transaction. Both texts are JSON: see jobs/stored-lines. */
export interface ImportBatchesTable {
	job_id: number;
	/** From 1, in the order of the file. */
	seq: number;
	lines: string;
	/** What each line would do, and what it did once it was brought in. */
	verdicts: string | null;
}
