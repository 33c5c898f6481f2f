// Jobs, which make many decisions at once or import files from other software.

import type { Dialect } from "../dialect.ts";

export function jobTables({ neverReusedId, clustered }: Dialect): readonly string[] {
	return [
		// Each row is a file or a list of lines that is to be applied.
		`create table jobs (
			id ${neverReusedId},
			public_id text not null unique,
			kind text not null,
			programme_id bigint,
			decided_by text,
			file_name text,
			list_query text,
			file_bytes bigint not null,
			person_id bigint,
			applied_by bigint,
			state text not null,
			invites integer not null,
			row_count integer not null,
			done_rows integer not null,
			done_batches integer not null,
			batch_rows integer not null,
			prepared_to bigint,
			summary text,
			lines text not null,
			failure text,
			access_ended_at_ms bigint,
			claim text,
			claim_until_ms bigint not null,
			created_at_ms bigint not null,
			applied_at_ms bigint,
			finished_at_ms bigint
		)`,
		// This index serves listJobs and sumUnfinishedJobs.
		"create index jobs_by_programme on jobs (programme_id, id)",
		// This index serves claimJob.
		`create index jobs_to_do on jobs (claim_until_ms, id)
			where state in ('preparing', 'uploaded', 'applying')`,
		// This index serves findJobToClear.
		"create index jobs_to_clear on jobs (id) where lines <> 'gone'",

		// Each row is a batch of a job's lines, which one transaction applies.
		`create table job_lines (
			job_id bigint not null,
			seq integer not null,
			lines text not null,
			verdicts text,
			primary key (job_id, seq)
		) ${clustered}`,
	];
}
