// Retention: what is old enough is removed in small batches, each its own transaction, so that no caller waits for it.
// What is few goes at once.

import { type RawBuilder, sql } from "kysely";
import { DAY_MS, isoTime, MINUTE_MS } from "../../domain/time.ts";
import type { Clock } from "../../ports.ts";
import type { Db, Store } from "../store.ts";
import { findNewestMove } from "./announced-moves.ts";
import { MAX_SESSION_DAYS } from "./sign-in.ts";

const BATCH_ROWS = 500;
/** Another machine's clock may be behind ours, and still take a timestamp that is stale here. */
const CLOCK_MARGIN_MS = 5 * MINUTE_MS;
const ENDED_LINKS_SHOWN_MS = 30 * DAY_MS;
/** Longer than the next one on the same topic has to wait. What still waits to be sent is kept as long as it is good for. */
const MAILS_KEPT_MS = 7 * DAY_MS;

/** What strangers write, and counts for minutes: nonces, and limits whose time is over. */
export async function pruneShortLived({ db }: Pick<Store, "db">, nowMs: number): Promise<void> {
	await sql`delete from nonces where expires_at_ms < ${nowMs - CLOCK_MARGIN_MS}`.execute(db);
	await sql`delete from limit_counts where ends_at_ms <= ${nowMs}`.execute(db);
}

/** What has expired and opens nothing any more: sessions, sign-ins that wait for a code, links. */
export async function pruneAccess({ db }: Pick<Store, "db">, nowMs: number): Promise<void> {
	const now = isoTime(nowMs);
	await sql`delete from auth_sessions where "expiresAt" < ${now}
		or "createdAt" <= ${isoTime(nowMs - MAX_SESSION_DAYS * DAY_MS)}`.execute(db);
	await sql`delete from auth_verifications where "expiresAt" < ${now}`.execute(db);
	// An invitation stays on the list for a while, to be sent again.
	await sql`delete from links where expires_at_ms < ${nowMs - ENDED_LINKS_SHOWN_MS}
		or (expires_at_ms < ${nowMs} and email is null and withdrawn is null)`.execute(db);
}

/** Mails that were sent or given up, and whatever nobody could send in time. */
export async function pruneMails({ db }: Pick<Store, "db">, nowMs: number): Promise<void> {
	const olderThanMs = nowMs - MAILS_KEPT_MS;
	await sql`delete from mail_queue where created_at_ms < ${olderThanMs}
		and (due_at_ms is null or good_until_ms < ${olderThanMs})`.execute(db);
	await sql`delete from changes_to_tell where due_at_ms < ${olderThanMs}`.execute(db);
}

/** Few rows, or small ones: notices that have ended, what is left of jobs once their lines have gone, hourly counts. */
export async function pruneSmall({ db }: Pick<Store, "db">, olderThanMs: number): Promise<void> {
	await sql`delete from notices where mail_due_at_ms is null and (ended_at_ms < ${olderThanMs}
		or (kind = 'callbacks_working_again' and opened_at_ms < ${olderThanMs}))`.execute(db);
	await sql`delete from jobs where lines = 'gone' and created_at_ms < ${olderThanMs}`.execute(db);
	await sql`delete from callback_hours where hour_ms < ${olderThanMs}`.execute(db);
}

type Pruning = [store: Store, clock: Clock, olderThanMs: number, isStopping: () => boolean];

/** `removeBatch` resolves to how many went, or to null when there is nothing left to look at. */
async function removeInBatches(
	clock: Clock,
	isStopping: () => boolean,
	removeBatch: () => Promise<number | null>,
): Promise<number> {
	let removed = 0;
	while (!isStopping()) {
		const count = await removeBatch();
		if (count === null) break;
		removed += count;
		await clock.yieldLoop();
	}
	return removed;
}

/**
 * Walks the rows from the oldest on, by batches, and stops at the first that is young enough: ids follow the time of
 * making. Not from the beginning each time: PostgreSQL would read again what this run has deleted.
 */
function removeOldest<Row extends { id: number; atMs: number }>(
	[{ db }, clock, olderThanMs, isStopping]: Pruning,
	all: RawBuilder<Row>,
	remove: (old: readonly Row[]) => Promise<number>,
): Promise<number> {
	let afterId = 0;
	return removeInBatches(clock, isStopping, async () => {
		const { rows } = await sql<Row>`${all} where id > ${afterId} order by id limit ${BATCH_ROWS}`.execute(db);
		const firstYoung = rows.findIndex(({ atMs }) => atMs >= olderThanMs);
		const old = firstYoung === -1 ? rows : rows.slice(0, firstYoung);
		const last = old.at(-1);
		if (last === undefined) return null;
		afterId = last.id;
		return remove(old);
	});
}

/** Resolves to how many went. */
export function pruneDeliveries(...of: Pruning): Promise<number> {
	const [store, , olderThanMs] = of;
	const all = sql<{ id: number; atMs: number; finishedAtMs: number | null }>`
		select id, created_at_ms as "atMs", finished_at_ms as "finishedAtMs" from deliveries`;
	return removeOldest(of, all, async (old) => {
		const finished = old.filter((row) => row.finishedAtMs !== null && row.finishedAtMs < olderThanMs);
		const ids = finished.map(({ id }) => id);
		return ids.length === 0 ? 0 : store.transact((trx) => removeDeliveries(trx, ids));
	});
}

async function removeDeliveries(trx: Db, ids: readonly number[]): Promise<number> {
	// Names the state again: one that was resent since the list was read stays.
	const finished = await trx
		.deleteFrom("deliveries")
		.where("id", "in", ids)
		.where("state", "<>", "pending")
		.returning("id")
		.execute();
	const gone = finished.map((row) => row.id);
	if (gone.length === 0) return 0;
	await trx.deleteFrom("attempts").where("delivery_id", "in", gone).execute();
	await trx.deleteFrom("events").where("id", "in", gone).execute();
	return gone.length;
}

/** The inbound log, or what listeners told of. Resolves to how many went. */
export function pruneLog(table: "inbound_calls" | "local_answers", ...of: Pruning): Promise<number> {
	const [{ db }] = of;
	const all = sql<{ id: number; atMs: number }>`select id, at_ms as "atMs" from ${sql.table(table)}`;
	return removeOldest(of, all, async (old) => {
		const ids = old.map(({ id }) => id);
		await db.deleteFrom(table).where("id", "in", ids).execute();
		return ids.length;
	});
}

/** What pixels reported and no server confirmed, with its history. Resolves to how many went. */
export function pruneExpired(...[store, clock, olderThanMs, isStopping]: Pruning): Promise<number> {
	return removeInBatches(clock, isStopping, async () => {
		const ids = await longestExpired(store, olderThanMs);
		return ids.length === 0 ? null : store.transact((trx) => removeExpired(trx, ids));
	});
}

/** Along conversions_by_window. */
async function longestExpired(store: Store, olderThanMs: number): Promise<number[]> {
	const newest = await newestConversions(store);
	const rows = await store.lookAlongIndexes((db) =>
		db
			.selectFrom("conversions")
			.select("id")
			.where("status", "=", "EXPIRED")
			.where("window_ends_at_ms", "<", olderThanMs)
			.where("id", "not in", newest)
			.orderBy("window_ends_at_ms")
			.limit(BATCH_ROWS)
			.execute(),
	);
	return rows.map(({ id }) => id);
}

/**
 * The newest row and the one with the newest move stay until there is a newer one: SQLite gives the number of a removed
 * last row again, and a listener's cursor must not be ahead of the moves.
 */
async function newestConversions(store: Store): Promise<number[]> {
	const rows = store.db.selectFrom("conversions").select("id").where("id", ">", 0);
	const row = await rows.orderBy("id", "desc").limit(1).executeTakeFirst();
	const move = await findNewestMove(store, "all");
	return [row?.id ?? 0, move?.conversion_id ?? 0];
}

async function removeExpired(trx: Db, ids: readonly number[]): Promise<number> {
	// Names the status again: one that a postback recorded since the list was read stays.
	const expired = await trx
		.deleteFrom("conversions")
		.where("id", "in", ids)
		.where("status", "=", "EXPIRED")
		.returning("id")
		.execute();
	const gone = expired.map((row) => row.id);
	if (gone.length > 0) await trx.deleteFrom("moves").where("conversion_id", "in", gone).execute();
	return gone.length;
}

/** What was removed leaves room in the file: most of it goes back to the disk, a little at a time. */
export async function giveBackSpace(store: Store, clock: Clock, isStopping: () => boolean): Promise<void> {
	while (!isStopping() && (await store.giveBackSpace())) await clock.yieldLoop();
}
