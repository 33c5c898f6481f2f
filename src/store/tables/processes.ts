// Processes that run, as they tell of themselves.

/** One row a process, from its start to its clean stop; see domain/process. */
export interface ProcessesTable {
	instance: string;
	host: string;
	role: string;
	version: string;
	started_at_ms: number;
	seen_at_ms: number;
	/** Null, with the two that follow, for one that does not deliver. */
	in_hand: number | null;
	programmes_due: number | null;
	oldest_due_at_ms: number | null;
	/** How many requests it may have on their way at most; null also for a process of 1.0.0. */
	most_in_flight: number | null;
	mail_failed_at_ms: number | null;
	mail_error: string | null;
}
