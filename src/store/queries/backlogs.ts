// What waits for a chore: since when the oldest has waited that should have been done by now, or null. Read from the end
// of an index, however much waits. Of windows that have ended conversions.ts knows, of jobs jobs.ts.

import { type RawBuilder, sql } from "kysely";
import type { Db } from "../store.ts";
import { findProgrammeToMail } from "./notices.ts";
import { oldestDeliveries } from "./prune.ts";

/** Of deliveries, which are by far the most that retention removes: when the oldest that is still here should have gone. */
export async function findOldestPastRetention(
	db: Db,
	retentionMs: number,
	nowMs: number,
): Promise<number | null> {
	const keptSinceMs = nowMs - retentionMs;
	const rows = await oldestDeliveries(db, 0, keptSinceMs);
	// Those that were resent later stay longer.
	const ended = rows.flatMap(({ finished_at_ms: at }) => (at === null || at >= keptSinceMs ? [] : [at]));
	return ended.length === 0 ? null : Math.min(...ended) + retentionMs;
}

/** Removed Postback URLs of which something is still pending, and nobody is at work on it. */
export function findOldestCancellation(db: Db, nowMs: number): Promise<number | null> {
	return findOldest(db, sql`select min(since_ms) as at from cancellations where claim_until_ms <= ${nowMs}`);
}

/** Trouble that should have been told: since when the longest was to be. */
export async function findOldestWatched(db: Db, watchedForMs: number, nowMs: number): Promise<number | null> {
	const sinceMs = await findOldest(
		db,
		sql`select min(opened_at_ms) as at from notices where told_at_ms is null
			and opened_at_ms <= ${nowMs - watchedForMs}`,
	);
	return sinceMs === null ? null : sinceMs + watchedForMs;
}

/** Notices that owners are to be mailed about. */
export async function findOldestUnmailed(db: Db, nowMs: number): Promise<number | null> {
	return (await findProgrammeToMail(db, nowMs))?.sinceMs ?? null;
}

/** Changes that nobody has been mailed about yet, and mails about them that were written and not sent. */
export function findOldestUntold(db: Db, nowMs: number): Promise<number | null> {
	return findOldest(
		db,
		sql`select min(at) as at from (
			select min(due_at_ms) as at from changes_to_tell where due_at_ms <= ${nowMs}
			union all select min(due_at_ms) from mail_queue where due_at_ms <= ${nowMs}) untold`,
	);
}

async function findOldest(db: Db, query: RawBuilder<unknown>): Promise<number | null> {
	const { rows } = await query.$castTo<{ at: number | null }>().execute(db);
	return rows[0]?.at ?? null;
}
