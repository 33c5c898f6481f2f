// How a programme's callbacks are doing: the newest answers for their speed, what has waited longest, what is undelivered.
// Bounded by the indexes it walks, so that a page costs the same with two million deliveries.

import type { Db } from "../store.ts";

/** Enough for a ninety-fifth percentile that does not jump, few enough for a page. */
const NEWEST_DELIVERIES = 500;
/** More than this many waiting at once is a mass event, where "more than" is all anybody needs to know. */
export const MAX_COUNTED_PENDING = 10_000;
/** Beyond it nobody reads the exact number, and a page must not count on. */
export const MAX_COUNTED_UNDELIVERED = 1_000;
/** How many of the latest-due rows are read when there are too many to read all. */
const LATEST_LOOKED_AT = 1_000;

/** Failed ones, counted up to the limit, along deliveries_failed. */
export async function countFailed(db: Db, programmeId: number): Promise<number> {
	const failed = db
		.selectFrom("deliveries")
		.select("id")
		.where("receiver_id", "=", programmeId)
		.where("failed_at_ms", "is not", null)
		.limit(MAX_COUNTED_UNDELIVERED);
	return (await failed.execute()).length;
}

/** Along queue_by_due, from one of its ends. */
function selectQueued(db: Db, programmeId: number, from: "asc" | "desc", limit: number) {
	return db
		.selectFrom("queue")
		.select(["id", "due_at_ms as dueAtMs"])
		.where("receiver_id", "=", programmeId)
		.orderBy("due_at_ms", from)
		.limit(limit);
}

/** Those that wait for a later attempt, counted up to the limit. */
export async function countWaiting(db: Db, programmeId: number, nowMs: number): Promise<number> {
	const queued = selectQueued(db, programmeId, "asc", MAX_COUNTED_UNDELIVERED);
	return (await queued.where("due_at_ms", ">", nowMs).execute()).length;
}

/** How long the shop took to answer, of the newest deliveries' attempts; unsorted, without those unanswered. */
export async function newestAnswerTimes(db: Db, programmeId: number, sinceMs: number): Promise<number[]> {
	const rows = await db
		.selectFrom((eb) =>
			eb
				.selectFrom("deliveries")
				.select("id")
				.where("receiver_id", "=", programmeId)
				.orderBy("id", "desc")
				.limit(NEWEST_DELIVERIES)
				.as("newest"),
		)
		.innerJoin("attempts", "attempts.delivery_id", "newest.id")
		.select("attempts.took_ms as tookMs")
		.where("attempts.result", "=", "answered")
		.where("attempts.started_at_ms", ">=", sinceMs)
		.execute();
	return rows.flatMap(({ tookMs }) => tookMs ?? []);
}

export interface Pending {
	/** Counted up to the limit. */
	count: number;
	/** When the oldest of them was made. At the limit there may be an older one that was not looked at. */
	oldestAtMs: number | null;
}

export async function findOldestPending(db: Db, programmeId: number): Promise<Pending> {
	const nextDue = await summarizeWaiting(db, programmeId, "asc", MAX_COUNTED_PENDING);
	// Rows that failed most often have the longest delay, so the oldest are due last.
	const lastDue =
		nextDue.count < MAX_COUNTED_PENDING
			? nextDue
			: await summarizeWaiting(db, programmeId, "desc", LATEST_LOOKED_AT);
	const oldestIds = [nextDue.oldestId, lastDue.oldestId].filter((id) => id !== null);
	if (oldestIds.length === 0) return { count: 0, oldestAtMs: null };
	const oldest = await db
		.selectFrom("deliveries")
		.select("created_at_ms as createdAtMs")
		.where("id", "=", Math.min(...oldestIds))
		.executeTakeFirst();
	return { count: nextDue.count, oldestAtMs: oldest?.createdAtMs ?? null };
}

async function summarizeWaiting(db: Db, programmeId: number, from: "asc" | "desc", limit: number) {
	const { count, oldestId } = await db
		.selectFrom(selectQueued(db, programmeId, from, limit).as("waiting"))
		.select((eb) => [eb.fn.countAll<number>().as("count"), eb.fn.min("waiting.id").as("oldestId")])
		.executeTakeFirstOrThrow();
	return { count: Number(count), oldestId };
}

export interface Undelivered {
	/** On their way, or waiting for their next attempt. Counted up to the limit, like those that failed. */
	waiting: number;
	/** When the next of them is due; it may be in the past while it is under way. Null when none waits. */
	nextDueAtMs: number | null;
	/** Finally failed, and not resent since. */
	failed: number;
}

/** Along queue_by_due and deliveries_failed. */
export async function countUndelivered(db: Db, programmeId: number): Promise<Undelivered> {
	const waiting = await selectQueued(db, programmeId, "asc", MAX_COUNTED_UNDELIVERED).execute();
	return {
		waiting: waiting.length,
		nextDueAtMs: waiting[0]?.dueAtMs ?? null,
		failed: await countFailed(db, programmeId),
	};
}
