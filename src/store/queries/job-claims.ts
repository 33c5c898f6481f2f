// Jobs that are worked off in the background, a batch at a time, by whichever process is there. Whoever works on one holds
// a claim that lapses: a process that dies leaves it to the next.

import { type Selectable, sql } from "kysely";
import type { Schema } from "../schema/tables.ts";
import type { Db } from "../store.ts";

export type JobTable = "bulk_jobs" | "import_jobs";
type JobOf<Table extends JobTable> = Selectable<Schema[Table]>;

/** The oldest that has work to do and nobody at work on it. */
export async function claimJob<Table extends JobTable>(
	db: Db,
	table: Table,
	claim: string,
	nowMs: number,
	claimUntilMs: number,
): Promise<JobOf<Table> | undefined> {
	const jobs = sql.table(table);
	// Looked at again, because on PostgreSQL another process may have claimed it after the list was read.
	const { rows } = await sql<
		JobOf<Table>
	>`update ${jobs} set claim = ${claim}, claim_until_ms = ${claimUntilMs}
		where id = (select id from ${jobs} where state in ('uploaded', 'applying') and claim_until_ms <= ${nowMs}
				order by claim_until_ms, id limit 1)
			and claim_until_ms <= ${nowMs}
		returning *`.execute(db);
	return rows[0];
}

/** Since when the longest waiting one was uploaded, of those that nobody is at work on. */
export async function findOldestWaitingJob(db: Db, table: JobTable, nowMs: number): Promise<number | null> {
	const { rows } = await sql<{ sinceMs: number }>`select created_at_ms as "sinceMs" from ${sql.table(table)}
		where state in ('uploaded', 'applying') and claim_until_ms <= ${nowMs}
		order by claim_until_ms, id limit 1`.execute(db);
	return rows[0]?.sinceMs ?? null;
}
