// What waits for a chore: since when the oldest has waited that should have been done by now, or null. Read from the end
// of an index, however much waits. Of windows that have ended conversions.ts knows, of jobs jobs.ts.

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
	const { sinceMs } = await db
		.selectFrom("cancellations")
		.select((eb) => eb.fn.min("since_ms").as("sinceMs"))
		.where("claim_until_ms", "<=", nowMs)
		.executeTakeFirstOrThrow();
	return sinceMs;
}

/** Trouble that should have been told: since when the longest was to be. */
export async function findOldestWatched(db: Db, watchedForMs: number, nowMs: number): Promise<number | null> {
	const { sinceMs } = await db
		.selectFrom("notices")
		.select((eb) => eb.fn.min("opened_at_ms").as("sinceMs"))
		.where("told_at_ms", "is", null)
		.where("opened_at_ms", "<=", nowMs - watchedForMs)
		.executeTakeFirstOrThrow();
	return sinceMs === null ? null : sinceMs + watchedForMs;
}

/** Notices that owners are to be mailed about. */
export async function findOldestUnmailed(db: Db, nowMs: number): Promise<number | null> {
	return (await findProgrammeToMail(db, nowMs))?.sinceMs ?? null;
}

/** Changes that nobody has been mailed about yet, and mails about them that were written and not sent. */
export async function findOldestUntold(db: Db, nowMs: number): Promise<number | null> {
	const oldest = (table: "changes_to_tell" | "mail_queue") =>
		db
			.selectFrom(table)
			.select((eb) => eb.fn.min("due_at_ms").as("sinceMs"))
			.where("due_at_ms", "<=", nowMs)
			.executeTakeFirstOrThrow();
	const found = [await oldest("changes_to_tell"), await oldest("mail_queue")];
	const since = found.flatMap(({ sinceMs }) => (sinceMs === null ? [] : [sinceMs]));
	return since.length === 0 ? null : Math.min(...since);
}
