// Helps tests of the queue with an engine that takes and settles due rows, and reads everything that a settlement may
// change.

import type { PassInput } from "#core/callbacks/pass.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { slotOf } from "#core/domain/slot.ts";
import type { DueDelivery, Settlement } from "#core/store/queries/queue.ts";
import type { Store } from "#core/store/store.ts";

const CAP_OVERALL = 512;
let lastEngine = 1_000;

/** Adds a registered engine that owns no slot. */
export async function addEngine(store: Store, nowMs: number): Promise<number> {
	const engineId = ++lastEngine;
	await store.queue.register(store.db, engineId, CAP_OVERALL, nowMs);
	return engineId;
}

/** Reads the first due rows of a receiver. */
export async function takeDue(
	store: Store,
	receiverId: ReceiverId,
	limit: number,
	nowMs: number,
): Promise<DueDelivery[]> {
	const front = { receiverId, afterDueAtMs: -1, afterId: 0, limit };
	const { deliveries } = await store.transact((trx) => store.queue.readDue(trx, [front], nowMs));
	return deliveries;
}

export async function takeOne(store: Store, receiverId: ReceiverId, nowMs: number): Promise<DueDelivery> {
	const [delivery] = await takeDue(store, receiverId, 1, nowMs);
	if (delivery === undefined) throw new Error("nothing was due");
	return delivery;
}

/** Returns the engine that owns the receiver's slot, or null if the slot is free. */
export async function slotOwner(store: Store, receiverId: ReceiverId): Promise<number | null> {
	const slot = await store.db
		.selectFrom("slots")
		.select("engine_id")
		.where("slot", "=", slotOf(receiverId))
		.executeTakeFirstOrThrow();
	return slot.engine_id;
}

/** Id of an engine that exists only while it stores results. */
const BRIEF_ENGINE_ID = 999_999;

export function settle(store: Store, ...settlements: readonly Settlement[]): Promise<ReadonlySet<number>> {
	const { queue } = store;
	return store.transact(async (trx) => {
		await queue.register(trx, BRIEF_ENGINE_ID, 1, 0);
		const ids = await queue.settle(trx, BRIEF_ENGINE_ID, settlements);
		if (ids === null) throw new Error("an engine that was just registered has no row");
		await queue.removeEngine(trx, BRIEF_ENGINE_ID);
		return ids;
	});
}

/** Returns the input of an engine's pass. The pass does only what `change` says. */
export function passInput(engineId: number, nowMs: number, change: Partial<PassInput> = {}): PassInput {
	return {
		engineId,
		isRenewal: false,
		mostInFlight: CAP_OVERALL,
		removesSilent: true,
		slots: [],
		reread: null,
		settlements: [],
		isUncertain: false,
		giveUp: [],
		isLast: false,
		requests: [],
		oldTargets: [],
		nowMs,
		...change,
	};
}

/**
 * Returns everything that is stored about a delivery. The rows are copied into plain objects, because
 * SQLite's rows have no prototype.
 */
export async function readAll(store: Store, id: number) {
	const { db } = store;
	const delivery = await db
		.selectFrom("deliveries")
		.selectAll()
		.where("id", "=", id)
		.executeTakeFirstOrThrow();
	const queued = await db.selectFrom("queue").selectAll().where("id", "=", id).executeTakeFirst();
	const attempts = await db
		.selectFrom("attempts")
		.selectAll()
		.where("delivery_id", "=", id)
		.orderBy("seq")
		.execute();
	return {
		delivery: { ...delivery },
		queued: queued === undefined ? null : { ...queued },
		attempts: attempts.map((attempt) => ({ ...attempt })),
	};
}
