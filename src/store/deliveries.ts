// Deliveries as people see them, and putting finished ones back into the queue.

import type { Selectable } from "kysely";
import { markDue } from "./lanes.ts";
import { programmesOwedEvents } from "./outbox.ts";
import type { Db } from "./store.ts";
import type { DeliveriesTable } from "./tables/deliveries.ts";

export type Delivery = Selectable<DeliveriesTable>;

export async function findDelivery(
	db: Db,
	programmeId: number,
	publicId: string,
): Promise<Delivery | undefined> {
	return db
		.selectFrom("deliveries")
		.selectAll()
		.where("public_id", "=", publicId)
		.where("receiver_id", "=", programmeId)
		.executeTakeFirst();
}

/** The oldest failures first. */
export async function failedSince(
	db: Db,
	programmeId: number,
	sinceMs: number,
	limit: number,
	untilMs: number = Number.MAX_SAFE_INTEGER,
): Promise<Delivery[]> {
	return db
		.selectFrom("deliveries")
		.selectAll()
		.where("receiver_id", "=", programmeId)
		.where("failed_at_ms", ">=", sinceMs)
		.where("failed_at_ms", "<=", untilMs)
		.orderBy("failed_at_ms")
		.limit(limit)
		.execute();
}

/** Starts a new run of each and returns those it started; null when there is no URL or no secret now. */
export async function requeue(
	trx: Db,
	programmeId: number,
	deliveries: readonly Delivery[],
	nowMs: number,
): Promise<Delivery[] | null> {
	const target = (await programmesOwedEvents(trx, [programmeId])).get(programmeId);
	if (target === undefined) return null;
	const started: Delivery[] = [];
	for (const delivery of deliveries) {
		// Names the state it was found in: two people pressing the button at once start one run.
		const { numUpdatedRows } = await trx
			.updateTable("deliveries")
			.set({ state: "pending", run: delivery.run + 1, finished_at_ms: null, failed_at_ms: null })
			.where("id", "=", delivery.id)
			.where("state", "=", delivery.state)
			.where("run", "=", delivery.run)
			.executeTakeFirst();
		if (numUpdatedRows === 0n) continue;
		await trx
			.insertInto("queue")
			.values({
				id: delivery.id,
				receiver_id: programmeId,
				due_at_ms: nowMs,
				endpoint_epoch: target.endpointEpoch,
				run: delivery.run + 1,
				counted: 0,
				seq: delivery.attempts,
			})
			.execute();
		started.push(delivery);
	}
	if (started.length > 0) await markDue(trx, [programmeId], nowMs);
	return started;
}
