// Jobs, which work on many lines. The lines are decisions, statements to issue, payments, or data that is imported from
// other software.

import type { Generated } from "kysely";
import type { DecidedBy } from "#core/domain/conversion.ts";

declare module "#core/store/schema/tables.ts" {
	interface Schema {
		jobs: JobsTable;
		job_lines: JobLinesTable;
	}
}

/**
 * One row is a job over many lines. The states of a job with a file are storing → uploaded → previewed → applying →
 * done. A job of statements has no file. Its states are preparing → previewed → applying → done, or preparing → done if
 * no statement is due. While a job is applied, a person can stop it, and it stops by itself if the access of the person
 * who started it ends. A stopped job can be continued. A job that is not applied yet can be discarded, and one that
 * breaks off while it is stored counts as discarded. A discarded job is deleted.
 *
 * The lines of a job have states of their own, in the column `lines`: kept → going → gone. The state of the job changes
 * only while its lines are kept. They are deleted some days after the job has ended, or when somebody discards the rest
 * of a stopped job.
 *
 * The process that works on a job holds a claim that expires. `done_batches` counts the batches that the work of the
 * present state has finished or, while the job is prepared, stored.
 */
export interface JobsTable {
	id: Generated<number>;
	public_id: string;
	kind: JobKindName;
	/** Programme that the decisions belong to, or null for a job of the network's staff. */
	programme_id: number | null;
	/** The side in whose name the job decides, or null for a job of the network's staff. */
	decided_by: Exclude<DecidedBy, "window"> | null;
	/**
	 * Name of the file, or null if the lines come from the database. Such lines are conversions that match the
	 * filters of a list, or statements of a month.
	 */
	file_name: string | null;
	/** Filters of the list or the month, as the query string of its address, or null if the job has a file. */
	list_query: string | null;
	file_bytes: number;
	/** Person who created the job, or null for the command line. */
	person_id: number | null;
	/** Person who started to apply the job. The job is applied in their name. */
	applied_by: number | null;
	state: JobState;
	/** 1 if every imported person is mailed an invitation. */
	invites: number;
	/** Number of lines. While a job is prepared, the number of partners whose accounts are to be read. */
	row_count: number;
	/** Number of lines that the work of the present state has finished, or of partners while the job is prepared. */
	done_rows: number;
	done_batches: number;
	/** Number of lines in each stored batch except the last. */
	batch_rows: number;
	/** Id of the last partner whose account was read while the job was prepared. Null for a job with a file. */
	prepared_to: number | null;
	/** Result so far of the work in the job's present state, as JSON. See use-cases/summary.ts. */
	summary: string | null;
	lines: "kept" | "going" | "gone";
	/** Reason why the last batch was not stored, as JSON, or null after a batch was stored. See use-cases/lines.ts. */
	failure: string | null;
	/**
	 * Time at which the person who applied or created the job lost their access, or null once another person has
	 * continued it.
	 */
	access_ended_at_ms: number | null;
	claim: string | null;
	claim_until_ms: number;
	created_at_ms: number;
	applied_at_ms: number | null;
	/** Time at which the job was done or stopped, or null before that. */
	finished_at_ms: number | null;
}

export type JobKindName =
	| "decisions"
	| "programmes"
	| "people"
	| "partners"
	| "links"
	| "codes"
	| "conversions"
	| "open-conversions"
	| "statements"
	| "payments";

export type JobState =
	| "storing"
	| "preparing"
	| "uploaded"
	| "previewed"
	| "applying"
	| "stopped"
	| "done"
	| "discarded";

/** One row is a batch of lines that one transaction applies. Both texts are JSON. See use-cases/lines.ts. */
export interface JobLinesTable {
	job_id: number;
	/** Number of the batch, counted from 1 in the order of the file. */
	seq: number;
	lines: string;
	/** Planned effect of each line, or its real effect once it was applied. */
	verdicts: string | null;
}
