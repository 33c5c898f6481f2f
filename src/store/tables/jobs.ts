// Work on many lines: decisions, and what comes from other software.

import type { Generated } from "kysely";
import type { DecidedBy } from "../../domain/conversion.ts";

/**
 * Many lines on their way in: storing → uploaded → previewed → applying → done. While it is applied it can be stopped, by
 * a person or because the access of whoever began it ended, and go on from there. Before it is applied it can be
 * discarded; so is what breaks off while it is stored. A discarded one is cleared, and nothing is left of it.
 * Its lines have a life of their own: kept → going → gone. Only while they are kept does the state change. They go some
 * days after its end, or when somebody discards the rest of one that was stopped.
 * The process that works on it holds a claim that lapses, and `done_batches` says how far the present state's work has
 * come.
 */
export interface JobsTable {
	id: Generated<number>;
	public_id: string;
	kind: JobKindName;
	/** Decisions are one programme's; null for what staff import. */
	programme_id: number | null;
	/** In whose name it decides; null where it decides nothing. */
	decided_by: Exclude<DecidedBy, "window"> | null;
	/** Null: everything that the filters of a list found at that moment. */
	file_name: string | null;
	/** Those filters, as they stand in the list's address. */
	list_query: string | null;
	/** How large the file was. */
	file_bytes: number;
	/** Who made it; null: the command line. */
	person_id: number | null;
	/** Who had it applied, and in whose name that is done. */
	applied_by: number | null;
	state: JobState;
	/** 1: everybody who is brought in is mailed an invitation. */
	invites: number;
	row_count: number;
	done_rows: number;
	done_batches: number;
	/** What the present state's work has found so far, as JSON: see jobs/summary. */
	summary: string | null;
	lines: "kept" | "going" | "gone";
	/** Why the last batch was not stored, as JSON: see jobs/lines. Null once one is. */
	failure: string | null;
	/** When the access of whoever applied it, or made it, was ended; null once somebody goes on with it. */
	access_ended_at_ms: number | null;
	claim: string | null;
	claim_until_ms: number;
	created_at_ms: number;
	applied_at_ms: number | null;
	/** When it was done or stopped. */
	finished_at_ms: number | null;
}

export type JobKindName = "decisions" | "programmes" | "people" | "conversions";

export type JobState = "storing" | "uploaded" | "previewed" | "applying" | "stopped" | "done" | "discarded";

/** A batch of lines, which go in with one transaction. Both texts are JSON: see jobs/lines. */
export interface JobLinesTable {
	job_id: number;
	/** From 1, in the order of the file. */
	seq: number;
	lines: string;
	/** What each line would do, and what it did once it was applied. */
	verdicts: string | null;
}
