// The queue as tests look at it: an engine that takes what is due, settles it, and reads back everything a settlement
// may change.

import type { PassInput } from "../../src/callbacks/pass.ts";
import { registerEngine } from "../../src/store/engines.ts";
import type { DueDelivery, Settlement } from "../../src/store/queue.ts";
import type { Db, Store } from "../../src/store/store.ts";

let lastEngine = 1_000;
let lastHandout = 0;

/** Registered and without a lane. */
export async function addEngine(store: Store, nowMs: number): Promise<number> {
	const engineId = ++lastEngine;
	await registerEngine(store.db, engineId, nowMs);
	return engineId;
}

/** One receiver's due rows that nobody has in hand, taken by the engine that has its lane, or else by a new one. */
export async function takeDue(
	store: Store,
	receiverId: number,
	limit: number,
	nowMs: number,
): Promise<DueDelivery[]> {
	return store.transact(async (trx) => {
		const engineId = await leaseLane(trx, receiverId, nowMs);
		const inHand = await listInHand(trx);
		const front = { receiverId, afterDueAtMs: -1, afterId: 0, limit: limit + inHand.size };
		const read = await store.queue.readDue(trx, [front], nowMs);
		const deliveries = read.deliveries
			.filter(({ id, dueAtMs }) => !inHand.has(`${id} ${dueAtMs}`))
			.slice(0, limit);
		// One for each, so that each is forgotten when it is settled.
		for (const delivery of deliveries) {
			await store.queue.handOut(trx, engineId, { number: ++lastHandout, deliveries: [delivery] }, [], nowMs);
		}
		return deliveries;
	});
}

export async function takeOne(store: Store, receiverId: number, nowMs: number): Promise<DueDelivery> {
	const [delivery] = await takeDue(store, receiverId, 1, nowMs);
	if (delivery === undefined) throw new Error("nothing was due");
	return delivery;
}

/** The engine that has the lane; null when nobody has, or there is none. */
export async function laneHolder(store: Store, receiverId: number): Promise<number | null> {
	const lane = await store.db
		.selectFrom("lanes")
		.select("engine_id")
		.where("receiver_id", "=", receiverId)
		.executeTakeFirst();
	return lane?.engine_id ?? null;
}

async function leaseLane(trx: Db, receiverId: number, nowMs: number): Promise<number> {
	const lane = await trx
		.selectFrom("lanes")
		.select("engine_id")
		.where("receiver_id", "=", receiverId)
		.executeTakeFirst();
	if (lane?.engine_id != null) return lane.engine_id;
	const engineId = ++lastEngine;
	await registerEngine(trx, engineId, nowMs);
	await trx.updateTable("lanes").set({ engine_id: engineId }).where("receiver_id", "=", receiverId).execute();
	return engineId;
}

/** Ids and due times, as they were handed out to anybody. */
async function listInHand(trx: Db): Promise<Set<string>> {
	const handouts = await trx.selectFrom("handouts").select(["delivery_ids", "dues"]).execute();
	return new Set(
		handouts.flatMap(({ delivery_ids, dues }) => {
			const dueAtMs = dues.split(",");
			return delivery_ids.split(",").map((id, index) => `${id} ${dueAtMs[index]}`);
		}),
	);
}

export function settle(store: Store, ...settlements: readonly Settlement[]): Promise<Set<number>> {
	return store.transact(async (trx) => {
		const settled = await store.queue.settle(trx, settlements);
		for (const id of settled)
			await trx.deleteFrom("handouts").where("delivery_ids", "=", String(id)).execute();
		return settled;
	});
}

/** A pass that does nothing but what is said. */
export function passInput(engineId: number, nowMs: number, change: Partial<PassInput> = {}): PassInput {
	return {
		engineId,
		renewal: null,
		isInDoubt: false,
		settlements: [],
		settledOf: new Map(),
		lease: null,
		requestsFor: () => [],
		choose: () => ({ deliveries: [], looks: [] }),
		targetsFor: () => [],
		handout: ++lastHandout,
		endedHandouts: [],
		shut: [],
		shutBefore: [],
		leaving: [],
		isLast: false,
		nowMs,
		...change,
	};
}

/** Everything stored about a delivery, as plain objects: SQLite's rows have no prototype. */
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
