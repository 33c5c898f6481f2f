// One delivery with everything that was sent for it: its event, and every attempt with where it went.

import type { Db } from "./store.ts";

export type DeliveryDetail = NonNullable<Awaited<ReturnType<typeof findDeliveryDetail>>>;
export type ListedAttempt = Awaited<ReturnType<typeof listAttempts>>[number];

/** Seven a run, and nobody resends this often by hand: the newest are shown. */
const MAX_SHOWN_ATTEMPTS = 100;

export async function findDeliveryDetail(db: Db, programmeId: number, publicId: string) {
	return db
		.selectFrom("deliveries")
		.innerJoin("events", "events.id", "deliveries.id")
		.innerJoin("conversions", "conversions.id", "events.conversion_id")
		.leftJoin("queue", "queue.id", "deliveries.id")
		.select([
			"deliveries.id",
			"deliveries.public_id as publicId",
			"deliveries.state",
			"deliveries.run",
			"deliveries.attempts",
			"deliveries.last_verdict as lastVerdict",
			"deliveries.last_http_status as lastHttpStatus",
			"deliveries.created_at_ms as createdAtMs",
			"deliveries.finished_at_ms as finishedAtMs",
			"events.name as event",
			"events.body as eventBody",
			"conversions.order_id as orderId",
			"conversions.public_id as conversionId",
			"conversions.test",
			"queue.due_at_ms as dueAtMs",
			"queue.claim",
		])
		.where("deliveries.public_id", "=", publicId)
		.where("deliveries.programme_id", "=", programmeId)
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
