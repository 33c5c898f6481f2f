// Removing a Postback URL. From the commit on nothing of the old epoch goes out; what is pending is cancelled afterwards,
// in batches, because a large backlog must hold up neither the engine nor another shop: see cancellations.ts.

import type { Db } from "../store.ts";
import { type Cancellation, noteCancellation } from "./cancellations.ts";
import { endTroubles } from "./notices.ts";

/**
 * The epoch goes up so that an event written by a transaction that still saw the URL is cancelled too, when an engine
 * comes to it. The caller has locked the programme.
 */
export async function removeEndpoint(trx: Db, receiverId: number, nowMs: number): Promise<Cancellation> {
	const { epoch } = await trx
		.updateTable("programmes")
		.set((eb) => ({ endpoint_id: null, endpoint_epoch: eb("endpoint_epoch", "+", 1) }))
		.where("id", "=", receiverId)
		.returning("endpoint_epoch as epoch")
		.executeTakeFirstOrThrow();
	// Nothing is sent any more, so nothing fails any more; and no success will come to end it.
	await endTroubles(trx, [receiverId], "removal", nowMs);
	return noteCancellation(trx, receiverId, epoch, nowMs);
}
