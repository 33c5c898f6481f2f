// "Postbacks sent to your shop": a programme's deliveries as a list. Every question walks an index that fits it
// and looks at a bounded number of rows; where a filter leaves few of them, the next page goes on from there.

import type { DeliveryState } from "../domain/delivery.ts";
import type { EventName } from "../domain/event-name.ts";
import type { CursorPair } from "./cursor-pair.ts";
import type { Db } from "./store.ts";

export interface DeliveryFilter {
	programmeId: number;
	state?: DeliveryState | undefined;
	event?: EventName | undefined;
	orderId?: string | undefined;
	/** Where the page before ended. */
	after?: CursorPair | undefined;
	limit: number;
}

export type ListedDelivery = Awaited<ReturnType<typeof readNewest>>[number];

export interface DeliveryPage {
	rows: ListedDelivery[];
	next: CursorPair | null;
}

/** Rows that one page looks at: some milliseconds, also when the filter leaves none of them. */
const MAX_LOOKED_AT = 2_000;
const CHUNK_ROWS = 250;
/** More than a page shows at once. */
const WATCHED_ROWS = 50;
/** An order has a conversion for each of seven event types, and each of them four events. */
const MAX_OF_ONE_ORDER = 28;

/** The newest first; failed ones by when they failed, pending ones by when they are due. */
export async function listDeliveries(db: Db, filter: DeliveryFilter): Promise<DeliveryPage> {
	const { state, event, orderId, limit } = filter;
	const matches = (row: ListedDelivery) =>
		(state === undefined || row.state === state) && (event === undefined || row.event === event);
	if (orderId !== undefined) {
		return { rows: (await readOfOrder(db, filter.programmeId, orderId)).filter(matches), next: null };
	}
	const isFiltered = event !== undefined || state === "delivered" || state === "cancelled";
	const chunkRows = isFiltered ? CHUNK_ROWS : limit + 1;
	const rows: ListedDelivery[] = [];
	let after = filter.after;
	for (let looked = 0; looked < MAX_LOOKED_AT; looked += chunkRows) {
		const chunk = await readChunk(db, filter, after, chunkRows);
		for (const row of chunk) {
			if (matches(row)) {
				if (rows.length === limit) return { rows, next: after ?? null };
				rows.push(row);
			}
			after = placeOf(row, state);
		}
		if (chunk.length < chunkRows) return { rows, next: null };
	}
	return { rows, next: after ?? null };
}

/** What the newest deliveries and calls have come to: compared every second by whoever watches them. */
export async function newestProgress(db: Db, programmeId: number): Promise<string> {
	const deliveries = await db
		.selectFrom("deliveries")
		.select(["id", "state", "run", "attempts", "last_attempt_at_ms"])
		.where("programme_id", "=", programmeId)
		.orderBy("id", "desc")
		.limit(WATCHED_ROWS)
		.execute();
	const call = await db
		.selectFrom("inbound_calls")
		.select("id")
		.where("programme_id", "=", programmeId)
		.orderBy("id", "desc")
		.limit(1)
		.executeTakeFirst();
	return JSON.stringify([deliveries.map((row) => Object.values(row)), call?.id ?? 0]);
}

export async function listDeliveriesOfConversion(db: Db, conversionId: number): Promise<ListedDelivery[]> {
	return selectDeliveries(db)
		.where("events.conversion_id", "=", conversionId)
		.orderBy("deliveries.id")
		.execute();
}

function readChunk(
	db: Db,
	{ programmeId, state }: DeliveryFilter,
	after: CursorPair | undefined,
	limit: number,
): Promise<ListedDelivery[]> {
	switch (state) {
		case "failed":
			return readFailed(db, programmeId, after, limit);
		case "pending":
			return readPending(db, programmeId, after, limit);
		case "delivered":
		case "cancelled":
		case undefined:
			return readNewest(db, programmeId, after, limit);
		default:
			return state satisfies never;
	}
}

function placeOf(row: ListedDelivery, state: DeliveryState | undefined): CursorPair {
	if (state === "failed") return { at: row.failedAtMs ?? 0, id: row.id };
	if (state === "pending") return { at: row.dueAtMs ?? 0, id: row.id };
	return { at: row.id, id: row.id };
}

/** What every list of deliveries, and each one's own page, shows of them. */
export function selectDeliveries(db: Db) {
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
			"deliveries.last_http_status as lastHttpStatus",
			"deliveries.created_at_ms as createdAtMs",
			"deliveries.last_attempt_at_ms as lastAttemptAtMs",
			"deliveries.failed_at_ms as failedAtMs",
			"events.name as event",
			"conversions.order_id as orderId",
			"conversions.test",
			// Under a claim it is on its way at this moment, and this is when the claim lapses.
			"queue.due_at_ms as dueAtMs",
			"queue.claim",
		]);
}

/** Along deliveries_by_programme. */
function readNewest(db: Db, programmeId: number, after: CursorPair | undefined, limit: number) {
	return selectDeliveries(db)
		.where("deliveries.programme_id", "=", programmeId)
		.$if(after !== undefined, (query) => query.where("deliveries.id", "<", after?.id ?? 0))
		.orderBy("deliveries.id", "desc")
		.limit(limit)
		.execute();
}

/** Along deliveries_failed. */
function readFailed(db: Db, programmeId: number, after: CursorPair | undefined, limit: number) {
	return selectDeliveries(db)
		.where("deliveries.programme_id", "=", programmeId)
		.where("deliveries.failed_at_ms", "is not", null)
		.$if(after !== undefined, (query) =>
			query
				.where("deliveries.failed_at_ms", "<=", after?.at ?? 0)
				.where((eb) =>
					eb.or([
						eb("deliveries.failed_at_ms", "<", after?.at ?? 0),
						eb("deliveries.id", "<", after?.id ?? 0),
					]),
				),
		)
		.orderBy("deliveries.failed_at_ms", "desc")
		.orderBy("deliveries.id", "desc")
		.limit(limit)
		.execute();
}

/** Along queue_by_due: the queue has a row exactly while a delivery is pending. */
function readPending(db: Db, programmeId: number, after: CursorPair | undefined, limit: number) {
	return selectDeliveries(db)
		.where("queue.programme_id", "=", programmeId)
		.$if(after !== undefined, (query) =>
			query
				.where("queue.due_at_ms", ">=", after?.at ?? 0)
				.where((eb) =>
					eb.or([eb("queue.due_at_ms", ">", after?.at ?? 0), eb("queue.id", ">", after?.id ?? 0)]),
				),
		)
		.orderBy("queue.due_at_ms")
		.orderBy("queue.id")
		.limit(limit)
		.execute();
}

/** Along conversions_by_order. */
function readOfOrder(db: Db, programmeId: number, orderId: string) {
	return selectDeliveries(db)
		.where("conversions.programme_id", "=", programmeId)
		.where("conversions.order_id", "=", orderId)
		.orderBy("deliveries.id", "desc")
		.limit(MAX_OF_ONE_ORDER)
		.execute();
}
