// How periodic work goes, as all processes know it.

import type { Dialect } from "./dialect.ts";

/** One row a chore; see domain/chore. */
export interface ChoresTable {
	name: string;
	since_ms: number;
	last_success_ms: number | null;
	working_at_ms: number | null;
	last_failure_ms: number | null;
	failures: number;
	error: string | null;
}

/** One row at most: see store/archive-duty. */
export interface ArchiveDutyTable {
	one: 1;
	/** Until when somebody is on duty. */
	until_ms: number;
}

export function choreTables({ clustered, rewritten }: Dialect): readonly string[] {
	return [
		`create table chores (
			name text primary key, since_ms bigint not null, last_success_ms bigint, working_at_ms bigint,
			last_failure_ms bigint, failures integer not null, error text) ${clustered} ${rewritten}`,
		"create table archive_duty (one integer primary key, until_ms bigint not null)",
	];
}
