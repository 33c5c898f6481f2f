// How long an engine takes to find what is due. As in a pass, it first leases the lanes that are due, and then reads the
// first rows of each. Everything is rolled back, so that every look finds the same.

import { FRONT } from "../src/callbacks/held-lane.ts";
import { LEASED_AT_ONCE } from "../src/callbacks/planner.ts";
import type { Store } from "../src/store/store.ts";

/** What a shop that has not answered yet gets at once: RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME, unless it is set. */
const ROWS = 8;
const ROLLED_BACK = new Error("only to look");

export interface Look {
	/** Until it is known whose lanes are due, and they are leased. */
	leaseMs: number;
	/** Until what is due of them is read, with the bodies. */
	readMs: number;
}

export async function findDue(store: Store): Promise<Look> {
	const look: Look = { leaseMs: 0, readMs: 0 };
	const looking = store.transact(async (trx) => {
		const nowMs = Date.now();
		const startedAt = performance.now();
		const { receiverIds } = await store.queue.lease(trx, 1, LEASED_AT_ONCE, nowMs);
		const leasedAt = performance.now();
		const front = { afterDueAtMs: FRONT.dueAtMs, afterId: FRONT.id, limit: ROWS };
		const requests = receiverIds.map((receiverId) => ({ receiverId, ...front }));
		const { deliveries } = await store.queue.readDue(trx, requests, nowMs);
		if (deliveries.length === 0) throw new Error("nothing was found to be due");
		look.leaseMs = leasedAt - startedAt;
		look.readMs = performance.now() - leasedAt;
		throw ROLLED_BACK;
	});
	await looking.catch((error: unknown) => {
		if (error !== ROLLED_BACK) throw error;
	});
	return look;
}
