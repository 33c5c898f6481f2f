// Finding what is due, as the engine does it in a pass: it leases lanes and reads the first rows of each, and nothing
// else. It is rolled back, so that each look finds the same.

import type { Store } from "../src/store/store.ts";

/** As many lanes as a pass leases at most, and what an unknown shop gets at first. */
const LANES = 512;
const ROWS = 8;
const ROLLED_BACK = new Error("only to look");

/** Resolves to how many receivers were found. */
export async function findDue(store: Store): Promise<number> {
	let found = 0;
	const look = store.transact(async (trx) => {
		const nowMs = Date.now();
		const { receiverIds } = await store.queue.lease(trx, 1, LANES, nowMs);
		const front = { afterDueAtMs: -1, afterId: 0, limit: ROWS };
		await store.queue.readDue(
			trx,
			receiverIds.map((receiverId) => ({ receiverId, ...front })),
			nowMs,
		);
		found = receiverIds.length;
		throw ROLLED_BACK;
	});
	await look.catch((error: unknown) => {
		if (error !== ROLLED_BACK) throw error;
	});
	return found;
}
