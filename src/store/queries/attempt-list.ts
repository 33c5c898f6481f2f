// One delivery with everything that was sent for it: its event, and every attempt with where it went.

import type { Db } from "../store.ts";
import type { AttemptResult } from "../tables/deliveries.ts";
import { selectDeliveries } from "./delivery-list.ts";

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
		.where("attempts.result", "<>", "interrupted")
		.$narrowType<{ result: AttemptResult }>()
		.orderBy("attempts.seq", "desc")
		.limit(MAX_SHOWN_ATTEMPTS)
		.execute();
}
