// What waits for a chore: since when the oldest has waited that should have been done by now, or null. Read from the end
// of an index, however much waits. Of windows that have ended conversions.ts knows, of jobs job-claims.ts.

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
export async function findOldestCancellation(db: Db, nowMs: number): Promise<number | null> {
	return firstOf(
		await db
			.selectFrom("cancellations")
			.select("since_ms as sinceMs")
			.where("claim_until_ms", "<=", nowMs)
			.orderBy("since_ms")
			.limit(1)
			.executeTakeFirst(),
	);
}

/** Trouble that should have been told: since when the longest was to be. */
export async function findOldestWatched(db: Db, watchedForMs: number, nowMs: number): Promise<number | null> {
	const oldest = await db
		.selectFrom("notices")
		.select("opened_at_ms as openedAtMs")
		.where("told_at_ms", "is", null)
		.where("opened_at_ms", "<=", nowMs - watchedForMs)
		.orderBy("opened_at_ms")
		.limit(1)
		.executeTakeFirst();
	return oldest === undefined ? null : oldest.openedAtMs + watchedForMs;
}

/** Notices that owners are to be mailed about. */
export async function findOldestUnmailed(db: Db, nowMs: number): Promise<number | null> {
	return firstOf(await findProgrammeToMail(db, nowMs));
}

/** Changes that nobody has been mailed about yet, and mails about them that were written and not sent. */
export async function findOldestUntold(db: Db, nowMs: number): Promise<number | null> {
	const untold = await db
		.selectFrom("changes_to_tell")
		.select("due_at_ms as sinceMs")
		.where("due_at_ms", "<=", nowMs)
		.orderBy("due_at_ms")
		.limit(1)
		.executeTakeFirst();
	const unsent = await db
		.selectFrom("mail_queue")
		.select("due_at_ms as sinceMs")
		.where("due_at_ms", "<=", nowMs)
		.orderBy("due_at_ms")
		.limit(1)
		.executeTakeFirst();
	const [oldest = null] = [firstOf(untold), firstOf(unsent)]
		.filter((sinceMs) => sinceMs !== null)
		.toSorted((a, b) => a - b);
	return oldest;
}

function firstOf(row: { sinceMs: number | null } | undefined): number | null {
	return row?.sinceMs ?? null;
}
