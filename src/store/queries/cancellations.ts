// Cancelling, for good, what was pending when a Postback URL was removed: in batches, each a short transaction. Whoever
// removed the URL begins with it, and a chore goes on, also after a process that died, and also when a URL is saved
// again: only deliveries of an earlier epoch go. What is due the engine cancels, which may have it in hand.
//
//   noted with the removal, claimed ──walked to the end, nothing left──▶ gone
//   claimed ──out of time, something is due, killed──▶ nobody's after a while ──claimed by the chore──▶ …

import { sql } from "kysely";
import { slotOf } from "../../domain/slot.ts";
import { SECOND_MS } from "../../domain/time.ts";
import type { Clock } from "../../ports.ts";
import type { Db, Store } from "../store.ts";
import { IN_HAND_SOON_MS } from "./bring-forward.ts";

export interface Cancellation {
	receiverId: number;
	/** Everything of an earlier epoch goes. */
	epoch: number;
}

export interface Cancelled {
	count: number;
	/** False when some are left to the chore, or to the engine that sends them. */
	isComplete: boolean;
}

/** On PostgreSQL a batch takes some ten milliseconds. */
const BATCH_ROWS = 500;
/** Renewed with every batch. After this somebody else goes on. */
const CLAIM_MS = 30 * SECOND_MS;

/** Claimed for whoever removes the URL. An earlier removal that has not come to its end goes up in this one. */
export async function noteCancellation(
	trx: Db,
	receiverId: number,
	epoch: number,
	nowMs: number,
): Promise<Cancellation> {
	const claim = { epoch, claim_until_ms: nowMs + CLAIM_MS };
	await trx
		.insertInto("cancellations")
		.values({ receiver_id: receiverId, since_ms: nowMs, ...claim })
		.onConflict((conflict) => conflict.column("receiver_id").doUpdateSet(claim))
		.execute();
	return { receiverId, epoch };
}

/** The chore: all that nobody is at work on. */
export async function cancelAllRemoved(store: Store, clock: Clock, isStopping: () => boolean): Promise<void> {
	while (!isStopping()) {
		const cancellation = await claimNext(store.db, clock.nowMs());
		if (cancellation === undefined) return;
		await cancelRemoved(store, clock, cancellation, isStopping);
	}
}

async function claimNext(db: Db, nowMs: number): Promise<Cancellation | undefined> {
	// Looked at again, because on PostgreSQL another process may have claimed it after the list was read.
	const { rows } = await sql<Cancellation>`update cancellations set claim_until_ms = ${nowMs + CLAIM_MS}
		where receiver_id = (select receiver_id from cancellations where claim_until_ms <= ${nowMs}
				order by since_ms, receiver_id limit 1)
			and claim_until_ms <= ${nowMs}
		returning receiver_id as "receiverId", epoch`.execute(db);
	return rows[0];
}

/**
 * One that is claimed: walks the receiver's queue once, in the order of due times. What is due is first in it, and is
 * met again by the chore; what is written behind the walk is due at once, and the engine cancels it.
 */
export async function cancelRemoved(
	store: Store,
	clock: Clock,
	cancellation: Cancellation,
	isStopping: () => boolean,
): Promise<Cancelled> {
	let count = 0;
	let isAnyLeft = false;
	let after: Position = { dueAtMs: -1, id: 0 };
	for (;;) {
		if (isStopping()) {
			await putOff(store.db, cancellation, clock.nowMs());
			return { count, isComplete: false };
		}
		const page = await store.lookAlongIndexes((db) => readPage(db, cancellation, after));
		const ids = page.filter(({ epoch }) => epoch < cancellation.epoch).map(({ id }) => id);
		if (ids.length > 0) {
			const batch = await store.transact((trx) => cancelBatch(trx, cancellation, ids, clock.nowMs()));
			count += batch.count;
			isAnyLeft ||= batch.isAnyLeft;
			if (!batch.mayGoOn) break;
		}
		const last = page.at(-1);
		if (last === undefined || page.length < BATCH_ROWS) break;
		after = last;
		await clock.yieldLoop();
	}
	if (isAnyLeft) await putOff(store.db, cancellation, clock.nowMs() + IN_HAND_SOON_MS);
	else await end(store.db, cancellation);
	return { count, isComplete: !isAnyLeft };
}

interface Position {
	dueAtMs: number;
	id: number;
}

/** Of every epoch: how much is read does not depend on how many are of an earlier one. */
async function readPage(
	db: Db,
	{ receiverId }: Cancellation,
	{ dueAtMs, id }: Position,
): Promise<(Position & { epoch: number })[]> {
	return db
		.selectFrom("queue")
		.select(["id", "due_at_ms as dueAtMs", "endpoint_epoch as epoch"])
		.where("receiver_id", "=", receiverId)
		.where((eb) => eb(eb.refTuple("due_at_ms", "id"), ">", eb.tuple(dueAtMs, id)))
		.orderBy("due_at_ms")
		.orderBy("id")
		.limit(BATCH_ROWS)
		.execute();
}

interface BatchCancelled {
	count: number;
	isAnyLeft: boolean;
	/** False when somebody else must come first. */
	mayGoOn: boolean;
}

/** Those of an earlier epoch among `ids`, but for what is due, which is its engine's to settle: it may be in hand. */
export async function cancelBatch(
	trx: Db,
	{ receiverId, epoch }: Cancellation,
	ids: readonly number[],
	nowMs: number,
): Promise<BatchCancelled> {
	// The update changes nothing, and keeps a free slot free on both databases: then nothing is in hand.
	const { numUpdatedRows: freeSlots } = await trx
		.updateTable("slots")
		.set({ engine_id: null })
		.where("slot", "=", slotOf(receiverId))
		.where("engine_id", "is", null)
		.executeTakeFirst();
	const isFree = freeSlots > 0n;
	const cancelled = await trx
		.deleteFrom("queue")
		.where("id", "in", ids)
		.where("endpoint_epoch", "<", epoch)
		.$if(!isFree, (query) => query.where("due_at_ms", ">", nowMs + IN_HAND_SOON_MS))
		.returning("id")
		.execute();
	if (cancelled.length > 0) {
		await trx
			.updateTable("deliveries")
			.set({ state: "cancelled", finished_at_ms: nowMs })
			.where(
				"id",
				"in",
				cancelled.map(({ id }) => id),
			)
			.execute();
	}
	const left = await trx
		.selectFrom("queue")
		.select("id")
		.where("id", "in", ids)
		.where("endpoint_epoch", "<", epoch)
		.limit(1)
		.executeTakeFirst();
	// Last, so that nothing is waited for any more: whoever removes the URL again waits for this row and has the programme.
	const { numUpdatedRows } = await trx
		.updateTable("cancellations")
		.set({ claim_until_ms: nowMs + CLAIM_MS })
		.where("receiver_id", "=", receiverId)
		.where("epoch", "=", epoch)
		.executeTakeFirst();
	// Removed again meanwhile: whoever did it goes on.
	const isOurs = numUpdatedRows > 0n;
	return { count: cancelled.length, isAnyLeft: !isOurs || left !== undefined, mayGoOn: isOurs };
}

/** Nobody's from then on. */
async function putOff(db: Db, { receiverId, epoch }: Cancellation, untilMs: number): Promise<void> {
	await db
		.updateTable("cancellations")
		.set({ claim_until_ms: untilMs })
		.where("receiver_id", "=", receiverId)
		.where("epoch", "=", epoch)
		.execute();
}

/** Unless the URL was removed again meanwhile. */
async function end(db: Db, { receiverId, epoch }: Cancellation): Promise<void> {
	await db
		.deleteFrom("cancellations")
		.where("receiver_id", "=", receiverId)
		.where("epoch", "=", epoch)
		.execute();
}
