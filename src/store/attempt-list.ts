// One delivery with everything that was sent for it: its event, and every attempt with where it went.

import { selectDeliveries } from "./delivery-list.ts";
import type { Db } from "./store.ts";

export type DeliveryDetail = NonNullable<Awaited<ReturnType<typeof findDeliveryDetail>>>;
export type ListedAttempt = Awaited<ReturnType<typeof listAttempts>>[number];

/** Seven a run, and nobody resends this often by hand: the newest are shown. */
const MAX_SHOWN_ATTEMPTS = 100;

export async function findDeliveryDetail(db: Db, programmeId: number, publicId: string) {
	return selectDeliveries(db)
		.select([
			"deliveries.finished_at_ms as finishedAtMs",
			"deliveries.last_verdict as lastVerdict",
			"events.body as eventBody",
			"conversions.public_id as conversionId",
		])
		.where("deliveries.public_id", "=", publicId)
		.where("deliveries.receiver_id", "=", programmeId)
		.executeTakeFirst();
}

/** The newest first. */
export async function listAttempts(db: Db, deliveryId: number) {
	return db
		.selectFrom("attempts")
		.leftJoin("endpoints", "endpoints.id", "attempts.endpoint_id")
		.selectAll("attempts")
		.select("endpoints.url")
		.where("attempts.delivery_id", "=", deliveryId)
		.orderBy("attempts.seq", "desc")
		.limit(MAX_SHOWN_ATTEMPTS)
		.execute();
}

export type LastAttempt = Awaited<ReturnType<typeof listLastAttempts>>[number];

/** The newest of each delivery; none of those that have not been tried. */
export async function listLastAttempts(db: Db, deliveryIds: readonly number[]) {
	if (deliveryIds.length === 0) return [];
	return (
		db
			.selectFrom("deliveries")
			// Attempts are numbered from one, and the delivery knows how many there are.
			.innerJoin("attempts", (join) =>
				join
					.onRef("attempts.delivery_id", "=", "deliveries.id")
					.onRef("attempts.seq", "=", "deliveries.attempts"),
			)
			.select([
				"attempts.delivery_id as deliveryId",
				"attempts.result",
				"attempts.http_status",
				"attempts.detail",
			])
			.where("deliveries.id", "in", deliveryIds)
			.execute()
	);
}
