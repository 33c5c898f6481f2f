// Health of a receiver's callbacks: the speed of the newest answers, the oldest pending delivery, and the number of
// undelivered ones. Every query reads a limited number of rows, so a page costs the same with two million deliveries.

import { type RawBuilder, sql } from "kysely";
import { isSerious, type WatchedTrouble } from "../../domain/notice.ts";
import type { ReceiverId, ReceiverKind } from "../../domain/receiver.ts";
import type { Db } from "../store.ts";
import type { NoticesTable } from "../tables/notices.ts";

/**
 * Number of newest deliveries from which the 95th percentile is computed. With fewer deliveries the value would vary
 * too much, and with more the page would be slow.
 */
const NEWEST_DELIVERIES = 500;
/** Limit up to which pages count. Nobody needs an exact number beyond it. */
export const MAX_COUNTED_UNDELIVERED = 1_000;

/** Limit for counting all deliveries, for messages that state how many are left. */
export const ALL = Number.MAX_SAFE_INTEGER;

/**
 * Counts failed deliveries, up to the limit. Deliveries that were resent or set aside do not count. Uses the index
 * undelivered_in_sight.
 */
export function countFailed(db: Db, receiverId: ReceiverId, most = MAX_COUNTED_UNDELIVERED): Promise<number> {
	const failed = sql`select 1 from undelivered
		where receiver_id = ${receiverId} and state = 'failed' and set_aside is null`;
	return countFew(db, failed, most);
}

/** Counts deliveries that wait for a later attempt, up to the limit. Uses the index queue_by_due. */
export function countWaiting(
	db: Db,
	receiverId: ReceiverId,
	nowMs: number,
	most = MAX_COUNTED_UNDELIVERED,
): Promise<number> {
	const waiting = sql`select 1 from queue where receiver_id = ${receiverId} and due_at_ms > ${nowMs}
		order by due_at_ms`;
	return countFew(db, waiting, most);
}

export async function countFew(db: Db, query: RawBuilder<unknown>, most: number): Promise<number> {
	const { rows } = await sql<{ count: number }>`select count(*) as count
		from (${query} limit ${sql.lit(most)}) few`.execute(db);
	return rows[0]?.count ?? 0;
}

/** Selects the receiver's queued deliveries in the order of their due times. Uses the index queue_by_due. */
function selectQueued(db: Db, receiverId: ReceiverId) {
	return db
		.selectFrom("queue")
		.select(["id", "due_at_ms as dueAtMs"])
		.where("receiver_id", "=", receiverId)
		.orderBy("due_at_ms")
		.limit(MAX_COUNTED_UNDELIVERED);
}

/**
 * Returns the time that the receiver took for each of its newest answers, unsorted. Attempts without an answer are
 * left out.
 */
export async function newestAnswerTimes(db: Db, receiverId: ReceiverId, sinceMs: number): Promise<number[]> {
	const { rows } = await sql<{ tookMs: number | null }>`select a.took_ms as "tookMs"
		from (select id from events where receiver_id = ${receiverId} order by id desc limit ${NEWEST_DELIVERIES}) d
		join attempts a on a.delivery_id = d.id
		where a.result = 'answered' and a.started_at_ms >= ${sinceMs}`.execute(db);
	return rows.flatMap(({ tookMs }) => tookMs ?? []);
}

export interface Pending {
	count: number;
	/**
	 * Creation time of the oldest counted delivery, or null if there is none. If the count reaches the limit, an older
	 * delivery may exist.
	 */
	oldestAtMs: number | null;
}

export async function findOldestPending(db: Db, receiverId: ReceiverId): Promise<Pending> {
	const queued = await selectQueued(db, receiverId).execute();
	// Ids rise with the time of creation, so the lowest id is the oldest delivery.
	const oldest = await db
		.selectFrom("events")
		.select("created_at_ms as createdAtMs")
		.where("id", "=", Math.min(...queued.map(({ id }) => id), Number.MAX_SAFE_INTEGER))
		.executeTakeFirst();
	return { count: queued.length, oldestAtMs: oldest?.createdAtMs ?? null };
}

export interface Undelivered {
	/** Number of deliveries in progress or waiting for an attempt, up to the limit. */
	waiting: number;
	/**
	 * Due time of the next delivery, or null if no delivery waits. It is in the past while that delivery is in
	 * progress.
	 */
	nextDueAtMs: number | null;
	/** Number of deliveries that failed and were neither resent nor set aside, up to the limit. */
	failed: number;
}

/** Counts the receiver's callbacks that are not delivered. Uses the indexes queue_by_due and undelivered_in_sight. */
export async function countUndelivered(db: Db, receiverId: ReceiverId): Promise<Undelivered> {
	const waiting = await selectQueued(db, receiverId).execute();
	return {
		waiting: waiting.length,
		nextDueAtMs: waiting[0]?.dueAtMs ?? null,
		failed: await countFailed(db, receiverId),
	};
}

// Counts callback attempts by quarter of an hour. The table has one row for each receiver and quarter, so the last 14
// days are at most some 1,300 rows, however many deliveries there are.

export interface CallbackCount {
	receiverId: ReceiverId;
	quarterMs: number;
	delivered: number;
	failed: number;
}

/** Adds counts in one statement, sorted by receiver, so that two engines cannot deadlock. */
export async function addCallbackCounts(trx: Db, counts: readonly CallbackCount[]): Promise<void> {
	if (counts.length === 0) return;
	const rows = counts
		.toSorted((a, b) => a.receiverId - b.receiverId || a.quarterMs - b.quarterMs)
		.map(({ receiverId, quarterMs, delivered, failed }) => ({
			receiver_id: receiverId,
			quarter_ms: quarterMs,
			delivered,
			failed,
		}));
	await trx
		.insertInto("callback_quarters")
		.values(rows)
		.onConflict((conflict) =>
			conflict.columns(["receiver_id", "quarter_ms"]).doUpdateSet((eb) => ({
				delivered: eb("callback_quarters.delivered", "+", eb.ref("excluded.delivered")),
				failed: eb("callback_quarters.failed", "+", eb.ref("excluded.failed")),
			})),
		)
		.execute();
}

/** Lists a receiver's attempts by quarter of an hour, the oldest first. Quarters without an attempt are missing. */
export async function listCallbackQuarters(
	db: Db,
	receiverId: ReceiverId,
	sinceMs: number,
): Promise<Omit<CallbackCount, "receiverId">[]> {
	return db
		.selectFrom("callback_quarters")
		.select(["quarter_ms as quarterMs", "delivered", "failed"])
		.where("receiver_id", "=", receiverId)
		.where("quarter_ms", ">=", sinceMs)
		.orderBy("quarter_ms")
		.execute();
}

export type CallbackTotals = Pick<CallbackCount, "delivered" | "failed">;

/** Adds up the attempts of all receivers. Uses the index callback_quarters_by_time. */
export async function sumCallbacks(db: Db, fromMs: number, beforeMs: number): Promise<CallbackTotals> {
	const { delivered, failed } = await db
		.selectFrom("callback_quarters")
		.select((eb) => [
			eb.fn.coalesce(eb.fn.sum<number>("delivered"), eb.lit(0)).as("delivered"),
			eb.fn.coalesce(eb.fn.sum<number>("failed"), eb.lit(0)).as("failed"),
		])
		.where("quarter_ms", ">=", fromMs)
		.where("quarter_ms", "<", beforeMs)
		.executeTakeFirstOrThrow();
	return { delivered: Number(delivered), failed: Number(failed) };
}

// Lists the shops or partners whose callbacks are failing now, for the network's staff. Those with the most undelivered
// callbacks come first.

type Failure = "last_failed_at_ms" | "last_result" | "last_verdict" | "last_http_status" | "last_detail";

export interface FailingReceiver
	extends Pick<NoticesTable, Failure>,
		Pick<WatchedTrouble, "failedAttempts" | "failures"> {
	publicId: string;
	name: string;
	sinceMs: number;
	toldAtMs: number | null;
	/** Number of waiting callbacks. Like `failed`, it is counted only up to a limit. */
	waiting: number;
	failed: number;
}

/**
 * Maximum number of failing shops, and of failing partners, that are read, beginning with the one that has failed for
 * longest. If more of them fail at once, the cause is on our side.
 */
const MAX_LOOKED_AT = 200;

export interface FailingReceivers {
	receivers: readonly FailingReceiver[];
	more: number;
}

export async function listFailing(
	db: Db,
	kind: ReceiverKind,
	limit: number,
	nowMs: number,
): Promise<FailingReceivers> {
	const failing = await readFailing(db, kind);
	const serious = failing.filter(
		(receiver) =>
			receiver.toldAtMs !== null || isSerious({ ...receiver, openedAtMs: receiver.sinceMs }, nowMs),
	);
	const undelivered = ({ waiting, failed }: FailingReceiver) => waiting + failed;
	const worstFirst = serious.sort((a, b) => undelivered(b) - undelivered(a) || a.sinceMs - b.sinceMs);
	return { receivers: worstFirst.slice(0, limit), more: Math.max(0, worstFirst.length - limit) };
}

export function countFailing({ receivers, more }: FailingReceivers): number {
	return receivers.length + more;
}

async function readFailing(db: Db, kind: ReceiverKind): Promise<FailingReceiver[]> {
	const few = sql.lit(MAX_COUNTED_UNDELIVERED);
	const owner =
		kind === "shop" ? sql`programmes p on p.id = r.programme_id` : sql`partners p on p.id = r.partner_id`;
	// Few notices are open at a time. The condition on receiver_id is always true and makes the database use the index
	// notices_open.
	const { rows } = await sql<FailingReceiver>`
		select p.public_id as "publicId", p.name, n.opened_at_ms as "sinceMs", n.told_at_ms as "toldAtMs",
			n.failed_attempts as "failedAttempts", n.failures, n.last_failed_at_ms, n.last_result, n.last_verdict,
			n.last_http_status, n.last_detail,
			(select count(*) from (select 1 from queue q where q.receiver_id = n.receiver_id limit ${few}) f) as waiting,
			(select count(*) from (select 1 from undelivered u where u.receiver_id = n.receiver_id
				and u.state = 'failed' and u.set_aside is null limit ${few}) f) as failed
		from notices n join receivers r on r.id = n.receiver_id join ${owner}
		where n.kind = 'callbacks_failing' and n.ended_at_ms is null and n.receiver_id > 0
			and r.endpoint_id is not null
		order by n.opened_at_ms limit ${MAX_LOOKED_AT}`.execute(db);
	return rows;
}
