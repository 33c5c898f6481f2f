// How periodic work goes, as all processes know it.

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
