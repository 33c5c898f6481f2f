// How a programme's callbacks are doing: the newest answers for their speed, what has waited longest, what is undelivered.
// Bounded by the indexes it walks, so that a page costs the same with two million deliveries.

import { type RawBuilder, sql } from "kysely";
import { isSerious, type WatchedTrouble } from "../../domain/notice.ts";
import type { Db } from "../store.ts";
import type { NoticesTable } from "../tables/notices.ts";

/** Enough for a ninety-fifth percentile that does not jump, few enough for a page. */
const NEWEST_DELIVERIES = 500;
/** Beyond it nobody reads the exact number, and a page must not count on. */
export const MAX_COUNTED_UNDELIVERED = 1_000;

/** For what a form left to do: its reader is told the exact number. */
export const ALL = Number.MAX_SAFE_INTEGER;

/** Those that failed and were neither resent nor set aside, counted up to the limit. Along deliveries_in_sight. */
export function countFailed(db: Db, programmeId: number, most = MAX_COUNTED_UNDELIVERED): Promise<number> {
	const failed = sql`select 1 from deliveries
		where receiver_id = ${programmeId} and failed_at_ms is not null and set_aside is null`;
	return countFew(db, failed, most);
}

/** Those that wait for a later attempt, counted up to the limit. Along queue_by_due. */
export function countWaiting(
	db: Db,
	programmeId: number,
	nowMs: number,
	most = MAX_COUNTED_UNDELIVERED,
): Promise<number> {
	const waiting = sql`select 1 from queue where receiver_id = ${programmeId} and due_at_ms > ${nowMs}
		order by due_at_ms`;
	return countFew(db, waiting, most);
}

export async function countFew(db: Db, query: RawBuilder<unknown>, most: number): Promise<number> {
	const { rows } = await sql<{ count: number }>`select count(*) as count
		from (${query} limit ${sql.lit(most)}) few`.execute(db);
	return rows[0]?.count ?? 0;
}

/** Along queue_by_due. */
function selectQueued(db: Db, programmeId: number) {
	return db
		.selectFrom("queue")
		.select(["id", "due_at_ms as dueAtMs"])
		.where("receiver_id", "=", programmeId)
		.orderBy("due_at_ms")
		.limit(MAX_COUNTED_UNDELIVERED);
}

/** How long the shop took to answer, of the newest deliveries' attempts; unsorted, without those unanswered. */
export async function newestAnswerTimes(db: Db, programmeId: number, sinceMs: number): Promise<number[]> {
	const { rows } = await sql<{ tookMs: number | null }>`select a.took_ms as "tookMs"
		from (select id from deliveries where receiver_id = ${programmeId} order by id desc limit ${NEWEST_DELIVERIES}) d
		join attempts a on a.delivery_id = d.id
		where a.result = 'answered' and a.started_at_ms >= ${sinceMs}`.execute(db);
	return rows.flatMap(({ tookMs }) => tookMs ?? []);
}

export interface Pending {
	/** Counted up to the limit. */
	count: number;
	/** When the oldest of them was made. At the limit there may be an older one that was not looked at. */
	oldestAtMs: number | null;
}

export async function findOldestPending(db: Db, programmeId: number): Promise<Pending> {
	const queued = await selectQueued(db, programmeId).execute();
	// Numbers follow the time of making.
	const oldest = await db
		.selectFrom("deliveries")
		.select("created_at_ms as createdAtMs")
		.where("id", "=", Math.min(...queued.map(({ id }) => id), Number.MAX_SAFE_INTEGER))
		.executeTakeFirst();
	return { count: queued.length, oldestAtMs: oldest?.createdAtMs ?? null };
}

export interface Undelivered {
	/** On their way, or waiting for their next attempt. Counted up to the limit, like those that failed. */
	waiting: number;
	/** When the next of them is due; it may be in the past while it is under way. Null when none waits. */
	nextDueAtMs: number | null;
	/** Finally failed, and neither resent nor set aside since. */
	failed: number;
}

/** Along queue_by_due and deliveries_in_sight. */
export async function countUndelivered(db: Db, programmeId: number): Promise<Undelivered> {
	const waiting = await selectQueued(db, programmeId).execute();
	return {
		waiting: waiting.length,
		nextDueAtMs: waiting[0]?.dueAtMs ?? null,
		failed: await countFailed(db, programmeId),
	};
}

// How callbacks went, by the hour: one row a programme and hour, so that "the last 24 hours" and "the last 14
// days" are read from a few hundred rows however many deliveries there are.

export interface CallbackCount {
	programmeId: number;
	hourMs: number;
	delivered: number;
	failed: number;
}

/** In one statement, in the order of the programmes: two engines that meet there must not wait for each other. */
export async function addCallbackCounts(trx: Db, counts: readonly CallbackCount[]): Promise<void> {
	if (counts.length === 0) return;
	const rows = counts
		.toSorted((a, b) => a.programmeId - b.programmeId || a.hourMs - b.hourMs)
		.map(({ programmeId, hourMs, delivered, failed }) => ({
			programme_id: programmeId,
			hour_ms: hourMs,
			delivered,
			failed,
		}));
	await trx
		.insertInto("callback_hours")
		.values(rows)
		.onConflict((conflict) =>
			conflict.columns(["programme_id", "hour_ms"]).doUpdateSet((eb) => ({
				delivered: eb("callback_hours.delivered", "+", eb.ref("excluded.delivered")),
				failed: eb("callback_hours.failed", "+", eb.ref("excluded.failed")),
			})),
		)
		.execute();
}

/** The oldest first; hours without an attempt are missing. */
export async function listCallbackHours(
	db: Db,
	programmeId: number,
	sinceMs: number,
): Promise<Omit<CallbackCount, "programmeId">[]> {
	return db
		.selectFrom("callback_hours")
		.select(["hour_ms as hourMs", "delivered", "failed"])
		.where("programme_id", "=", programmeId)
		.where("hour_ms", ">=", sinceMs)
		.orderBy("hour_ms")
		.execute();
}

export type CallbackTotals = Pick<CallbackCount, "delivered" | "failed">;

/** Of all programmes, along callback_hours_by_hour. */
export async function sumCallbacks(db: Db, fromMs: number, beforeMs: number): Promise<CallbackTotals> {
	const { delivered, failed } = await db
		.selectFrom("callback_hours")
		.select((eb) => [
			eb.fn.coalesce(eb.fn.sum<number>("delivered"), eb.lit(0)).as("delivered"),
			eb.fn.coalesce(eb.fn.sum<number>("failed"), eb.lit(0)).as("failed"),
		])
		.where("hour_ms", ">=", fromMs)
		.where("hour_ms", "<", beforeMs)
		.executeTakeFirstOrThrow();
	return { delivered: Number(delivered), failed: Number(failed) };
}

// Shops whose callbacks are failing now, for the network's staff: those with the most undelivered callbacks first.

type Failure = "last_failed_at_ms" | "last_result" | "last_verdict" | "last_http_status" | "last_detail";

export interface FailingShop
	extends Pick<NoticesTable, Failure>,
		Pick<WatchedTrouble, "failedAttempts" | "failures"> {
	publicId: string;
	name: string;
	sinceMs: number;
	toldAtMs: number | null;
	/** Both counted up to the limit. */
	waiting: number;
	failed: number;
}

/** Looked at, those that have been failing the longest; more fail together only when the fault is ours. */
const MAX_LOOKED_AT = 200;

export interface FailingShops {
	shops: readonly FailingShop[];
	/** How many were left out. */
	more: number;
}

export async function listFailingShops(db: Db, limit: number, nowMs: number): Promise<FailingShops> {
	const failing = await readFailing(db);
	const serious = failing.filter(
		(shop) => shop.toldAtMs !== null || isSerious({ ...shop, openedAtMs: shop.sinceMs }, nowMs),
	);
	const undelivered = ({ waiting, failed }: FailingShop) => waiting + failed;
	const worstFirst = serious.sort((a, b) => undelivered(b) - undelivered(a) || a.sinceMs - b.sinceMs);
	return { shops: worstFirst.slice(0, limit), more: Math.max(0, worstFirst.length - limit) };
}

async function readFailing(db: Db): Promise<FailingShop[]> {
	const few = sql.lit(MAX_COUNTED_UNDELIVERED);
	// All that is open at one time is little, and is read along notices_open: hence the condition that always holds.
	const { rows } = await sql<FailingShop>`
		select p.public_id as "publicId", p.name, n.opened_at_ms as "sinceMs", n.told_at_ms as "toldAtMs",
			n.failed_attempts as "failedAttempts", n.failures, n.last_failed_at_ms, n.last_result, n.last_verdict,
			n.last_http_status, n.last_detail,
			(select count(*) from (select 1 from queue q where q.receiver_id = n.receiver_id limit ${few}) f) as waiting,
			(select count(*) from (select 1 from deliveries d where d.receiver_id = n.receiver_id
				and d.failed_at_ms is not null and d.set_aside is null limit ${few}) f) as failed
		from (select * from notices where kind = 'callbacks_failing' and ended_at_ms is null and receiver_id > 0
			order by opened_at_ms limit ${MAX_LOOKED_AT}) n
		join programmes p on p.id = n.receiver_id where p.endpoint_id is not null`.execute(db);
	return rows;
}
