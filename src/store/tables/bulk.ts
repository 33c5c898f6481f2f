// Many decisions at once.

import type { Generated } from "kysely";
import type { DecidedBy } from "../../domain/conversion.ts";
import type { Dialect } from "./dialect.ts";

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

export function bulkTables({ selfNumberedId, clustered }: Dialect): readonly string[] {
	return [
		`create table bulk_jobs (
			id ${selfNumberedId}, public_id text not null unique, programme_id bigint not null, person_id bigint not null,
			decided_by text not null, source text not null, file_name text, list_query text, state text not null,
			row_count integer not null, done_rows integer not null, claim text, claim_until_ms bigint not null,
			created_at_ms bigint not null, applied_at_ms bigint, finished_at_ms bigint)`,
		"create index bulk_jobs_by_programme on bulk_jobs (programme_id, id)",
		"create index bulk_jobs_by_age on bulk_jobs (created_at_ms)",
		`create index bulk_jobs_to_do on bulk_jobs (claim_until_ms, id) where state in ('uploaded', 'applying')`,
		`create table bulk_rows (
			job_id bigint not null, seq integer not null, line integer not null,
			named_conversion text not null, order_id text not null, event_type text not null,
			decision text not null, reason text not null,
			verdict text, detail text, outcome text, conversion text,
			basket_value text, commission text, currency text, test integer,
			primary key (job_id, seq)) ${clustered}`,
		// Which rows are about the same conversion, without reading the others.
		"create index bulk_rows_by_conversion on bulk_rows (job_id, conversion) where conversion is not null",
	];
}
