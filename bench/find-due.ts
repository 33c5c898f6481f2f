// Finding what is due, as the engine does it in a pass: it leases the lanes that are due, and then reads the first rows of
// each, which is no finding any more: they are handed out as they are read. It is rolled back, so that each look finds
// the same.

import type { Store } from "../src/store/store.ts";

/** As many lanes as a pass leases at most, and what an unknown shop gets at first. */
const LANES = 512;
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
		const { receiverIds } = await store.queue.lease(trx, 1, LANES, nowMs);
		const leasedAt = performance.now();
		const front = { afterDueAtMs: -1, afterId: 0, limit: ROWS };
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
