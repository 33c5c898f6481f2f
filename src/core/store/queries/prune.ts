// Removes old rows. Large tables are pruned in small batches, each in its own transaction, so that no caller waits for
// long. Small tables are pruned by one statement. Modules add rules to those of the core.

import { type RawBuilder, sql } from "kysely";
import { DAY_MS, MINUTE_MS } from "../../domain/time.ts";
import type { Clock } from "../../ports.ts";
import type { Db, Store } from "../store.ts";
import { findNewestMove } from "./announced-moves.ts";
import { lockEvents } from "./deliveries.ts";
import { MAX_SESSION_DAYS } from "./sessions.ts";

const BATCH_ROWS = 500;
/** Number of consecutive batches without an old row after which a walk ends. */
const MAX_BATCHES_WITHOUT_OLD = 10;
/**
 * Time for which expired nonces are kept. A machine whose clock is behind ours may still accept a timestamp that is too
 * old here.
 */
const CLOCK_MARGIN_MS = 5 * MINUTE_MS;
const ENDED_LINKS_SHOWN_MS = 30 * DAY_MS;
/**
 * Age at which a finished mail is removed. It is longer than the interval between two mails on the same topic. A mail
 * that was not sent yet is kept until it is useless.
 */
export const MAILS_KEPT_MS = 7 * DAY_MS;

export interface PruneRun {
	store: Store;
	clock: Clock;
	nowMs: number;
	/** Time before which records are old. It follows from the retention time in the settings. */
	olderThanMs: number;
	/** Number of years for which statements of erased partners keep the data of their parties. */
	statementYears: number;
	isStopping: () => boolean;
}

export interface PruneRule {
	/** Name of the rows that the rule removes, such as "deliveries". */
	name: string;
	prune(run: PruneRun): Promise<unknown>;
}

/** Returns a rule that removes the old rows of a large table. */
export function pruneInBatches(name: string, prune: (...pruning: Pruning) => Promise<unknown>): PruneRule {
	return {
		name,
		prune: ({ store, clock, olderThanMs, isStopping }) => prune(store, clock, olderThanMs, isStopping),
	};
}

export const CORE_PRUNE_RULES: readonly PruneRule[] = [
	{ name: "access", prune: ({ store, nowMs }) => pruneAccess(store, nowMs) },
	{ name: "mails", prune: ({ store, nowMs }) => pruneMails(store, nowMs) },
	{ name: "kept keys", prune: ({ store, nowMs }) => pruneKeptKeys(store, nowMs) },
	{ name: "notices", prune: ({ store, olderThanMs }) => pruneNotices(store, olderThanMs) },
	{ name: "counts of callbacks", prune: ({ store, olderThanMs }) => pruneCallbackCounts(store, olderThanMs) },
	pruneInBatches("deliveries", pruneDeliveries),
	pruneInBatches("inbound calls", (...pruning) => pruneLog("inbound_calls", ...pruning)),
	pruneInBatches("expired conversions", pruneExpired),
	{ name: "free space", prune: ({ store, clock, isStopping }) => giveBackSpace(store, clock, isStopping) },
];

/**
 * Removes nonces that have expired and rate-limit counts whose time window has ended. Strangers can cause many of
 * these rows, which are valid only for minutes.
 */
export async function pruneShortLived({ db }: Pick<Store, "db">, nowMs: number): Promise<void> {
	await sql`delete from nonces where expires_at_ms < ${nowMs - CLOCK_MARGIN_MS}`.execute(db);
	await sql`delete from limit_counts where ends_at_ms <= ${nowMs}`.execute(db);
}

export async function pruneAccess({ db }: Pick<Store, "db">, nowMs: number): Promise<void> {
	await sql`delete from sessions where expires_at_ms < ${nowMs}
		or created_at_ms <= ${nowMs - MAX_SESSION_DAYS * DAY_MS}`.execute(db);
	await sql`delete from sign_in_challenges where expires_at_ms < ${nowMs}`.execute(db);
	// Expired invitations stay on the list for a while, so that they can be sent again.
	await sql`delete from sign_in_links where expires_at_ms < ${nowMs - ENDED_LINKS_SHOWN_MS}
		or (expires_at_ms < ${nowMs} and email is null and withdrawn is null)`.execute(db);
}

/** Removes old mails that were sent or given up, and those that could not be sent in time. */
export async function pruneMails({ db }: Pick<Store, "db">, nowMs: number): Promise<void> {
	const olderThanMs = nowMs - MAILS_KEPT_MS;
	await sql`delete from mail_queue where created_at_ms < ${olderThanMs}
		and (due_at_ms is null or good_until_ms < ${olderThanMs})`.execute(db);
	await sql`delete from changes_to_tell where due_at_ms < ${olderThanMs}`.execute(db);
}

/** Removes derived keys that were kept for texts which have expired since. */
async function pruneKeptKeys({ db }: Pick<Store, "db">, nowMs: number): Promise<void> {
	await sql`delete from kept_keys where expires_at_ms < ${nowMs}`.execute(db);
}

export async function pruneNotices({ db }: Pick<Store, "db">, olderThanMs: number): Promise<void> {
	await sql`delete from notices where mail_due_at_ms is null and (ended_at_ms < ${olderThanMs}
		or (kind = 'callbacks_working_again' and opened_at_ms < ${olderThanMs}))`.execute(db);
}

export async function pruneCallbackCounts({ db }: Pick<Store, "db">, olderThanMs: number): Promise<void> {
	await sql`delete from callback_quarters where quarter_ms < ${olderThanMs}`.execute(db);
}

export type Pruning = [store: Store, clock: Clock, olderThanMs: number, isStopping: () => boolean];

/** Calls `removeBatch` until it resolves to null or the process stops. Resolves to the total number of removed rows. */
export async function removeInBatches(
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
 * Walks the rows in the order of their ids, in batches, and passes the old rows to `remove`. Ids rise with time, so
 * the walk ends after several batches without an old row. It does not end at the first young row, because a clock
 * that was ahead may have dated a few rows in the future. Each batch starts after the previous batch. If it started
 * from the beginning, PostgreSQL would read the rows again that this run has deleted.
 */
function removeOldest<Row extends { id: number; atMs: number }>(
	[{ db }, clock, olderThanMs, isStopping]: Pruning,
	all: RawBuilder<Row>,
	remove: (old: readonly Row[]) => Promise<number>,
): Promise<number> {
	let afterId = 0;
	let batchesWithoutOld = 0;
	return removeInBatches(clock, isStopping, async () => {
		const { rows } = await sql<Row>`${all} where id > ${afterId} order by id limit ${BATCH_ROWS}`.execute(db);
		const last = rows.at(-1);
		if (last === undefined) return null;
		afterId = last.id;
		const old = rows.filter(({ atMs }) => atMs < olderThanMs);
		batchesWithoutOld = old.length === 0 ? batchesWithoutOld + 1 : 0;
		if (batchesWithoutOld === MAX_BATCHES_WITHOUT_OLD) return null;
		return old.length === 0 ? 0 : remove(old);
	});
}

/** Removes old deliveries with their events and attempts. Resolves to the number of removed deliveries. */
export function pruneDeliveries(...pruning: Pruning): Promise<number> {
	const [store, , olderThanMs] = pruning;
	const all = sql<{ id: number; atMs: number }>`select id, created_at_ms as "atMs" from events`;
	return removeOldest(pruning, all, async (old) => {
		const ids = old.map(({ id }) => id);
		return store.transact((trx) => removeDeliveries(trx, ids, olderThanMs));
	});
}

/**
 * Removes those of the deliveries that ended before the given time, with their events and attempts. Resolves to the
 * number of removed deliveries.
 */
async function removeDeliveries(trx: Db, ids: readonly number[], olderThanMs: number): Promise<number> {
	// Until the commit, this lock prevents others from resending the deliveries.
	const locked = await lockEvents(trx, ids);
	if (locked.length === 0) return 0;
	const ended = await trx
		.selectFrom("deliveries")
		.select("id")
		.where("id", "in", locked)
		.where("finished_at_ms", "<", olderThanMs)
		.execute();
	const removed = ended.map(({ id }) => id);
	if (removed.length === 0) return 0;
	await trx.deleteFrom("attempts").where("delivery_id", "in", removed).execute();
	await trx.deleteFrom("undelivered").where("id", "in", removed).execute();
	await trx.deleteFrom("events").where("id", "in", removed).execute();
	return removed.length;
}

/** Removes old rows of a log. Resolves to the number of removed rows. */
export function pruneLog(table: "inbound_calls" | "local_answers", ...pruning: Pruning): Promise<number> {
	const [{ db }] = pruning;
	const all = sql<{ id: number; atMs: number }>`select id, at_ms as "atMs" from ${sql.table(table)}`;
	return removeOldest(pruning, all, async (old) => {
		const ids = old.map(({ id }) => id);
		await db.deleteFrom(table).where("id", "in", ids).execute();
		return ids.length;
	});
}

/** Removes expired conversions, which no server has confirmed, with their history. Resolves to their number. */
export function pruneExpired(...[store, clock, olderThanMs, isStopping]: Pruning): Promise<number> {
	return removeInBatches(clock, isStopping, async () => {
		const ids = await longestExpired(store, olderThanMs);
		return ids.length === 0 ? null : store.transact((trx) => removeExpired(trx, ids));
	});
}

/** Returns the conversions that expired longest ago. Uses the index conversions_by_window. */
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
 * Returns the newest conversion, and the conversion with the newest move. Both must stay until there are newer ones,
 * because SQLite reuses the id of a deleted last row, and a listener's cursor must not be ahead of all moves.
 */
async function newestConversions(store: Store): Promise<number[]> {
	const rows = store.db.selectFrom("conversions").select("id").where("id", ">", 0);
	const row = await rows.orderBy("id", "desc").limit(1).executeTakeFirst();
	const move = await findNewestMove(store, "all");
	return [row?.id ?? 0, move?.conversion_id ?? 0];
}

async function removeExpired(trx: Db, ids: readonly number[]): Promise<number> {
	// Conversions are locked in the order of their ids, as in every change, so that two transactions cannot deadlock.
	await trx
		.selectFrom("conversions")
		.select("id")
		.where("id", "in", ids)
		.orderBy("id")
		.forNoKeyUpdate()
		.execute();
	// The status is checked again, because a sale report may have replaced the conversion since the list was read.
	const expired = await trx
		.deleteFrom("conversions")
		.where("id", "in", ids)
		.where("status", "=", "EXPIRED")
		.returning("id")
		.execute();
	const removed = expired.map((row) => row.id);
	if (removed.length > 0) await trx.deleteFrom("moves").where("conversion_id", "in", removed).execute();
	return removed.length;
}

/** Returns most of the free space in the SQLite file to the disk, a little at a time. */
export async function giveBackSpace(store: Store, clock: Clock, isStopping: () => boolean): Promise<void> {
	while (!isStopping() && (await store.giveBackSpace())) await clock.yieldLoop();
}
