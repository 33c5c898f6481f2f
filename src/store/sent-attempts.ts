// "Did we send this?": an attempt of a programme by its nonce or signature. Neither has an index, because every delivery
// would pay for it; so the attempts of the conversion or order that the request names are looked through, and without
// such a name those of the newest deliveries that there were at its time.

import type { Db } from "./store.ts";

export interface AttemptClues {
	/** In every spelling that may be it. */
	nonces: readonly string[];
	/** In lower-case hex, whole; null when it is not known. */
	signature: string | null;
}

/** What the request is about, as it says. */
export interface NamedThings {
	conversionIds: readonly string[];
	orderIds: readonly string[];
}

export interface FoundAttempt {
	deliveryId: string;
	seq: number;
	started_at_ms: number;
	nonce: string | null;
	signature: string | null;
	url: string | null;
	event: string;
	eventBody: string;
}

export interface NamedEvent {
	id: number;
	event: string;
	eventBody: string;
}

/** An order has a conversion for each of seven event types, and each of them four events. */
const MAX_EVENTS = 28 * 2;
/** Measured with a million attempts: 30 ms on SQLite, 60 on PostgreSQL. The page names it. */
export const MAX_DELIVERIES_LOOKED_AT = 2_000;
/** A nonce or signature belongs to one attempt; headers that were mixed up, to two. */
const MAX_FOUND = 4;
const BATCH_IDS = 500;

/** The events of the conversions that are named, the newest first. */
export async function findNamedEvents(
	db: Db,
	programmeId: number,
	{ conversionIds, orderIds }: NamedThings,
): Promise<NamedEvent[]> {
	const named = [
		...(conversionIds.length === 0
			? []
			: await db
					.selectFrom("conversions")
					.select("id")
					.where("public_id", "in", conversionIds)
					.where("programme_id", "=", programmeId)
					.execute()),
		...(orderIds.length === 0
			? []
			: await db
					.selectFrom("conversions")
					.select("id")
					.where("programme_id", "=", programmeId)
					.where("order_id", "in", orderIds)
					.execute()),
	];
	if (named.length === 0) return [];
	const ids = [...new Set(named.map(({ id }) => id))];
	return db
		.selectFrom("events")
		.select(["id", "name as event", "body as eventBody"])
		.where("conversion_id", "in", ids)
		.where("receiver_id", "=", programmeId)
		.orderBy("id", "desc")
		.limit(MAX_EVENTS)
		.execute();
}

/** Of these deliveries, along their key. `sinceMs`: before it none of them was made. */
export async function findAttemptsOf(
	db: Db,
	deliveryIds: readonly number[],
	sinceMs: number,
	{ nonces, signature }: AttemptClues,
): Promise<FoundAttempt[]> {
	const found: FoundAttempt[] = [];
	for (let at = 0; at < deliveryIds.length; at += BATCH_IDS) {
		const rows = await db
			.selectFrom("attempts")
			.select(["delivery_id", "seq", "started_at_ms", "nonce", "signature", "endpoint_id"])
			.where("delivery_id", "in", deliveryIds.slice(at, at + BATCH_IDS))
			// Nothing is sent before it is made: on PostgreSQL older partitions are not even opened.
			.where("started_at_ms", ">=", sinceMs)
			.where((eb) => eb.or([eb("nonce", "in", ["", ...nonces]), eb("signature", "=", signature ?? "")]))
			.orderBy("delivery_id", "desc")
			.orderBy("seq", "desc")
			.limit(MAX_FOUND)
			.execute();
		for (const row of rows) found.push({ ...row, ...(await describe(db, row)) });
		if (found.length > 0) return found;
	}
	return found;
}

/** The newest that the programme had at the time, and since when there was any of them. */
export async function listDeliveriesAround(
	db: Db,
	programmeId: number,
	atMs: number,
): Promise<{ ids: number[]; sinceMs: number }> {
	const rows = await db
		.selectFrom("deliveries")
		.select(["id", "created_at_ms"])
		.where("receiver_id", "=", programmeId)
		.where("id", "<", await firstIdMadeAfter(db, programmeId, atMs + CLOCK_SLACK_MS))
		.orderBy("id", "desc")
		.limit(MAX_DELIVERIES_LOOKED_AT)
		.execute();
	const oldestMs = rows.at(-1)?.created_at_ms ?? 0;
	return { ids: rows.map(({ id }) => id), sinceMs: oldestMs - CLOCK_SLACK_MS };
}

/** Processes that write at the same time may differ by this. */
const CLOCK_SLACK_MS = 10_000;

/** By halving, some twenty looks along deliveries_by_receiver: ids rise with the time of making. */
async function firstIdMadeAfter(db: Db, programmeId: number, atMs: number): Promise<number> {
	const at = (id: number, direction: "asc" | "desc") =>
		db
			.selectFrom("deliveries")
			.select(["id", "created_at_ms"])
			.where("receiver_id", "=", programmeId)
			.where("id", ">=", id)
			.orderBy("id", direction)
			.limit(1)
			.executeTakeFirst();
	const newest = await at(0, "desc");
	if (newest === undefined || newest.created_at_ms <= atMs) return Number.MAX_SAFE_INTEGER;
	let low = (await at(0, "asc"))?.id ?? 0;
	let high = newest.id;
	while (low < high) {
		const middle = Math.floor((low + high) / 2);
		const row = await at(middle, "asc");
		if (row === undefined || row.id >= high || row.created_at_ms > atMs) high = middle;
		else low = row.id + 1;
	}
	return low;
}

async function describe(db: Db, row: { delivery_id: number; endpoint_id: number | null }) {
	const event = await db
		.selectFrom("deliveries")
		.innerJoin("events", "events.id", "deliveries.id")
		.select(["deliveries.public_id as deliveryId", "events.name as event", "events.body as eventBody"])
		.where("deliveries.id", "=", row.delivery_id)
		.executeTakeFirstOrThrow();
	const endpoint = await db
		.selectFrom("endpoints")
		.select("url")
		.where("id", "=", row.endpoint_id ?? 0)
		.executeTakeFirst();
	return { ...event, url: endpoint?.url ?? null };
}
