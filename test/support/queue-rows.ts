// The queue as tests look at it: claim, settle, and read back everything a settlement may change.

import type { Claimed, ClaimedDelivery, ClaimRequest, Settlement } from "../../src/store/queue.ts";
import type { Store } from "../../src/store/store.ts";

let lastClaim = 1_000;

/** One programme's due rows, under a claim nobody else has. */
export async function claimDue(
	store: Store,
	programmeId: number,
	limit: number,
	nowMs: number,
): Promise<ClaimedDelivery[]> {
	return (await claimFor(store, [{ programmeId, limit }], nowMs)).deliveries;
}

export async function claimOne(store: Store, programmeId: number, nowMs: number): Promise<ClaimedDelivery> {
	const [delivery] = await claimDue(store, programmeId, 1, nowMs);
	if (delivery === undefined) throw new Error("nothing was due");
	return delivery;
}

export function claimFor(store: Store, requests: readonly ClaimRequest[], nowMs: number): Promise<Claimed> {
	const claim = ++lastClaim;
	return store.transact((trx) => store.queue.claim(trx, requests, claim, nowMs));
}

export function settle(store: Store, ...settlements: readonly Settlement[]): Promise<Set<number>> {
	return store.transact((trx) => store.queue.settle(trx, settlements));
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
