// "Did we send this?": the attempts that a pasted callback may be. Neither nonce nor signature has an index, because every
// delivery would pay for it: the attempts of the conversion or order that its body names are read, and otherwise those of
// the programme's newest deliveries are looked through.

import type { Db } from "../store.ts";

export interface SentAttempt {
	deliveryId: string;
	seq: number;
	started_at_ms: number;
	nonce: string | null;
	signature: string | null;
	url: string | null;
	event: string;
	eventBody: string;
}

/** An order has at most 28 events, and seldom more than one attempt for each; of one that is resent again and again, the newest. */
const MAX_ATTEMPTS = 200;
/** Measured with a million attempts: 30 ms on SQLite, 60 on PostgreSQL. The page names it. */
export const MAX_DELIVERIES_LOOKED_AT = 2_000;
/** A nonce or signature belongs to one attempt; headers that were mixed up, to two. */
const MAX_FOUND = 4;
/** Processes that write at the same time may differ by this. */
const CLOCK_SLACK_MS = 10_000;

/** Of the conversion and of the order that a body names; the newest first. */
export async function listAttemptsOf(
	db: Db,
	programmeId: number,
	{ conversionId, orderId }: { conversionId: string; orderId: string },
): Promise<SentAttempt[]> {
	const events = db
		.selectFrom("conversions")
		.innerJoin("events", "events.conversion_id", "conversions.id")
		.select("events.id")
		.where("conversions.programme_id", "=", programmeId)
		.where("events.receiver_id", "=", programmeId);
	// One after the other: asked for either at once, SQLite reads all conversions of the programme.
	const found = [
		...(await events.where("conversions.public_id", "=", conversionId).execute()),
		...(await events.where("conversions.order_id", "=", orderId).execute()),
	];
	if (found.length === 0) return [];
	const ids = found.map(({ id }) => id);
	return attempts(db).where("attempts.delivery_id", "in", ids).limit(MAX_ATTEMPTS).execute();
}

/** Those with this nonce or this signature among the attempts of the newest deliveries. */
export async function findRecentAttempts(
	db: Db,
	programmeId: number,
	{ nonce, signature }: { nonce: string; signature: string },
): Promise<SentAttempt[]> {
	const newest = await db
		.selectFrom("deliveries")
		.select(["id", "created_at_ms"])
		.where("receiver_id", "=", programmeId)
		.orderBy("id", "desc")
		.limit(MAX_DELIVERIES_LOOKED_AT)
		.execute();
	const oldest = newest.at(-1);
	if (oldest === undefined) return [];
	const ids = newest.map(({ id }) => id);
	return (
		attempts(db)
			.where("attempts.delivery_id", "in", ids)
			// Nothing is sent before it is made: the older partitions of a database of 1.0.0 are not even opened.
			.where("attempts.started_at_ms", ">=", oldest.created_at_ms - CLOCK_SLACK_MS)
			.where((eb) => eb.or([eb("attempts.nonce", "=", nonce), eb("attempts.signature", "=", signature)]))
			.limit(MAX_FOUND)
			.execute()
	);
}

/** With what went out in each, along the key of the attempts. Of some that 1.0.0 wrote nobody knows what they sent. */
function attempts(db: Db) {
	return db
		.selectFrom("attempts")
		.innerJoin("deliveries", "deliveries.id", "attempts.delivery_id")
		.innerJoin("events", "events.id", "attempts.delivery_id")
		.leftJoin("endpoints", "endpoints.id", "attempts.endpoint_id")
		.select([
			"deliveries.public_id as deliveryId",
			"attempts.seq",
			"attempts.started_at_ms",
			"attempts.nonce",
			"attempts.signature",
			"endpoints.url",
			"events.name as event",
			"events.body as eventBody",
		])
		.where("attempts.nonce", "is not", null)
		.orderBy("attempts.delivery_id", "desc")
		.orderBy("attempts.seq", "desc");
}
