// Removing a Postback URL: what is pending is cancelled, for good.

import { holdStill, listInHand } from "./lanes.ts";
import { NEVER_MS } from "./queue.ts";
import type { Db } from "./store.ts";

/**
 * The epoch goes up so that an event written by a transaction that still saw the URL is cancelled too, when an engine
 * comes to it. What is in an engine's hands is the engine's to cancel. Whoever also locks the programme calls
 * `holdStill` before that. Resolves to how many were cancelled here.
 */
export async function removeEndpoint(trx: Db, receiverId: number, nowMs: number): Promise<number> {
	const { isEmpty, engineId } = await holdStill(trx, receiverId);
	await trx
		.updateTable("programmes")
		.set((eb) => ({ endpoint_id: null, endpoint_epoch: eb("endpoint_epoch", "+", 1) }))
		.where("id", "=", receiverId)
		.execute();
	const inHand = engineId === null ? [] : await listInHand(trx, engineId, receiverId);
	// Marked first, by a time that no other row has: on PostgreSQL events may be committed between these statements, and
	// a delivery must not lose its place in the queue and stay pending for ever.
	await trx
		.updateTable("queue")
		.set({ due_at_ms: NEVER_MS })
		.where("receiver_id", "=", receiverId)
		.$if(inHand.length > 0, (query) => query.where("id", "not in", inHand))
		.execute();
	const { numUpdatedRows } = await trx
		.updateTable("deliveries")
		.set({ state: "cancelled", finished_at_ms: nowMs })
		.where("id", "in", (eb) =>
			eb
				.selectFrom("queue")
				.select("id")
				.where("receiver_id", "=", receiverId)
				.where("due_at_ms", "=", NEVER_MS),
		)
		.executeTakeFirst();
	await trx
		.deleteFrom("queue")
		.where("receiver_id", "=", receiverId)
		.where("due_at_ms", "=", NEVER_MS)
		.execute();
	// One that was there before stays: somebody may have seen that it is due, and said nothing more.
	if (isEmpty) await trx.deleteFrom("lanes").where("receiver_id", "=", receiverId).execute();
	return Number(numUpdatedRows);
}
