// Reads the list "Postbacks sent to your shop", which contains a receiver's deliveries. Each filter uses the index that
// fits it.

import { type RawBuilder, sql } from "kysely";
import type { Cursor } from "../../domain/cursor.ts";
import type { DeliveryState } from "../../domain/delivery.ts";
import type { EventName } from "../../domain/event-name.ts";
import type { OrderSearch } from "../../domain/order-id.ts";
import type { ReceiverId } from "../../domain/receiver.ts";
import type { Db } from "../store.ts";
import type { AttemptResult, AttemptsTable } from "../tables/deliveries.ts";
import { listConversions } from "./conversion-list.ts";
import { countRows, endId, type ListPage, type PageRequest, readListPage, walkOf } from "./list-page.ts";
import { listNewestAnswers } from "./local-answers.ts";

export interface DeliveryFilter extends PageRequest {
	receiverId: ReceiverId;
	/** Programme whose conversions are searched, or null for a partner, whose list has no search by order. */
	programmeId: number | null;
	state?: DeliveryState | undefined;
	event?: EventName | undefined;
	search?: OrderSearch | undefined;
}

type DeliveryRow = Awaited<ReturnType<ReturnType<typeof selectDeliveries>["execute"]>>[number];

export interface ListedDelivery extends DeliveryRow {
	/**
	 * Last attempt. It is null if the delivery succeeded or was never tried. `lastHttpStatus` may come from an earlier
	 * attempt.
	 */
	lastAttempt: LastAttempt | null;
}

/** Number of newest deliveries that an open page watches for changes. It is more than a page shows. */
const WATCHED_ROWS = 50;

/**
 * Lists deliveries, the newest first. A list of failed or cancelled deliveries is sorted by the time at which they
 * ended, and a list of pending ones by due time.
 */
export async function listDeliveries(db: Db, filter: DeliveryFilter): Promise<ListPage<ListedDelivery>> {
	const page = await readPage(db, filter);
	return { ...page, rows: await withLastAttempts(db, page.rows) };
}

async function readPage(db: Db, filter: DeliveryFilter): Promise<ListPage<DeliveryRow>> {
	const { receiverId, programmeId, state, event, search } = filter;
	const matches = (row: DeliveryRow) =>
		(state === undefined || row.state === state) && (event === undefined || row.event === event);
	if (search !== undefined && programmeId !== null) {
		// A search finds conversions in the list of conversions, and the page shows their callbacks. A conversion has at
		// most four callbacks.
		const found = await listConversions(db, {
			programmeId,
			search,
			after: filter.after,
			limit: filter.limit,
		});
		const rows = (await readOfConversions(db, receiverId, found.rows)).filter(matches);
		const isWhole = filter.after === undefined && found.next === null;
		return { ...found, rows, count: isWhole ? rows.length : undefined };
	}
	const isFiltered = event !== undefined || state === "delivered";
	const cursorOf = (row: DeliveryRow) => ({ at: sortedBy(row, state), id: row.id });
	const read = (after: Cursor | undefined, limit: number) => selectRows(db, filter, after, limit).execute();
	const count = (limit: number) => countRows(db, selectRows(db, filter, undefined, limit));
	const parts = isFiltered ? { matches } : { count };
	return readListPage(walkOf(read, cursorOf, parts), filter);
}

/**
 * Returns a text that changes with the newest deliveries, inbound calls and answers of listeners. An open page
 * refreshes when the text changes.
 */
export async function newestProgress(
	db: Db,
	receiverId: ReceiverId,
	/** The programme of the receiver, or null for a partner. */
	programmeId: number | null,
): Promise<string> {
	const deliveries = await db
		.selectFrom("deliveries")
		.select(["id", "state", "run", "attempts", "last_attempt_at_ms"])
		.where("receiver_id", "=", receiverId)
		.orderBy("id", "desc")
		.limit(WATCHED_ROWS)
		.execute();
	const states = deliveries.map((row) => Object.values(row));
	if (programmeId === null) return JSON.stringify(states);
	const [answer] = await listNewestAnswers(db, receiverId, 1);
	const call = await db
		.selectFrom("inbound_calls")
		.select("id")
		.where("programme_id", "=", programmeId)
		.orderBy("id", "desc")
		.limit(1)
		.executeTakeFirst();
	return JSON.stringify([states, call?.id ?? 0, answer?.id ?? 0]);
}

export async function listDeliveriesOfConversion(
	db: Db,
	receiverId: ReceiverId,
	conversionId: number,
): Promise<ListedDelivery[]> {
	const rows = await selectDeliveries(db)
		.where("deliveries.conversion_id", "=", conversionId)
		.where(isFor(receiverId))
		.orderBy("deliveries.id")
		.execute();
	return withLastAttempts(db, rows);
}

export interface PartnersDelivery extends ListedDelivery {
	partnerId: string;
	partnerName: string;
}

/** Lists the deliveries of a conversion to partners. There may be several partners, because staff can change the credit. */
export async function listPartnersDeliveries(db: Db, conversionId: number): Promise<PartnersDelivery[]> {
	const rows = await selectDeliveries(db)
		.innerJoin("receivers", "receivers.id", "deliveries.receiver_id")
		.innerJoin("partners", "partners.id", "receivers.partner_id")
		.select(["partners.public_id as partnerId", "partners.name as partnerName"])
		.where("deliveries.conversion_id", "=", conversionId)
		.orderBy("deliveries.id")
		.execute();
	return withLastAttempts(db, rows);
}

/**
 * Condition that limits the few deliveries of some conversions to one receiver. The plus sign keeps the databases from
 * using the index events_by_receiver, which would read all deliveries of the receiver.
 */
function isFor(receiverId: ReceiverId): RawBuilder<boolean> {
	return sql<boolean>`+deliveries.receiver_id = ${receiverId}`;
}

async function withLastAttempts<Row extends DeliveryRow>(
	db: Db,
	rows: readonly Row[],
): Promise<(Row & ListedDelivery)[]> {
	const tried = rows.filter(({ state, attempts }) => state !== "delivered" && attempts > 0);
	const last = await listLastAttempts(db, tried);
	const lastOf = new Map(last.map((attempt) => [attempt.deliveryId, attempt]));
	return rows.map((row) => ({ ...row, lastAttempt: lastOf.get(row.id) ?? null }));
}

function sortedBy(row: DeliveryRow, state: DeliveryState | undefined): number {
	if (state === "failed" || state === "cancelled") return row.finishedAtMs ?? 0;
	if (state === "pending") return row.dueAtMs ?? 0;
	return row.id;
}

function selectDeliveries(db: Db) {
	return (
		db
			.selectFrom("deliveries")
			// A test callback to a partner has no conversion.
			.leftJoin("conversions", "conversions.id", "deliveries.conversion_id")
			.select((eb) => [
				"deliveries.id",
				"deliveries.attempts",
				"deliveries.public_id as publicId",
				"deliveries.state",
				"deliveries.run",
				// Forms send this number back, so that the server knows which attempt the person saw last.
				"deliveries.attempts as seq",
				"deliveries.last_http_status as lastHttpStatus",
				"deliveries.created_at_ms as createdAtMs",
				"deliveries.last_attempt_at_ms as lastAttemptAtMs",
				"deliveries.failed_at_ms as failedAtMs",
				"deliveries.finished_at_ms as finishedAtMs",
				"deliveries.set_aside as setAside",
				"deliveries.name as event",
				eb.fn.coalesce("conversions.order_id", sql.lit("")).as("orderId"),
				eb.fn.coalesce("conversions.public_id", sql.lit("")).as("conversionId"),
				eb.fn.coalesce("conversions.test", sql.lit(1 as const)).as("test"),
				"deliveries.due_at_ms as dueAtMs",
			])
	);
}

/**
 * Selects the rows of the list. Uses the index queue_by_due for pending deliveries, undelivered_by_receiver for failed
 * and cancelled ones, and events_by_receiver for all others.
 */
function selectRows(db: Db, { receiverId, state }: DeliveryFilter, after: Cursor | undefined, limit: number) {
	const rows = selectDeliveries(db).limit(limit);
	if (state === "pending") {
		return rows
			.innerJoin("queue", "queue.id", "deliveries.id")
			.where("queue.receiver_id", "=", receiverId)
			.where(({ eb, refTuple, tuple }) =>
				eb(refTuple("queue.due_at_ms", "queue.id"), ">", tuple(after?.at ?? -1, after?.id ?? 0)),
			)
			.orderBy("queue.due_at_ms")
			.orderBy("queue.id");
	}
	if (state === "failed" || state === "cancelled") {
		const before = after?.at ?? Number.MAX_SAFE_INTEGER;
		return rows
			.innerJoin("undelivered", "undelivered.id", "deliveries.id")
			.where("undelivered.receiver_id", "=", receiverId)
			.where("undelivered.state", "=", state)
			.where(({ eb, refTuple, tuple }) =>
				eb(refTuple("undelivered.ended_at_ms", "undelivered.id"), "<", tuple(before, endId(after))),
			)
			.orderBy("undelivered.ended_at_ms", "desc")
			.orderBy("undelivered.id", "desc");
	}
	return rows
		.where("deliveries.receiver_id", "=", receiverId)
		.where("deliveries.id", "<", endId(after))
		.orderBy("deliveries.id", "desc");
}

async function readOfConversions(
	db: Db,
	receiverId: ReceiverId,
	conversions: readonly { id: number }[],
): Promise<DeliveryRow[]> {
	const ids = conversions.map(({ id }) => id);
	if (ids.length === 0) return [];
	const ofThem = selectDeliveries(db).where("deliveries.conversion_id", "in", ids).where(isFor(receiverId));
	return ofThem.orderBy("deliveries.conversion_id", "desc").orderBy("deliveries.id", "desc").execute();
}

export type DeliveryDetail = NonNullable<Awaited<ReturnType<typeof findDeliveryDetail>>>;
export type ListedAttempt = Awaited<ReturnType<typeof listAttempts>>[number];

/**
 * Maximum number of attempts that a page shows, beginning with the newest. A run has at most seven, and nobody resends
 * so often that more are needed.
 */
const MAX_SHOWN_ATTEMPTS = 100;

export async function findDeliveryDetail(db: Db, receiverId: ReceiverId, publicId: string) {
	return selectDeliveries(db)
		.innerJoin("events", "events.id", "deliveries.id")
		.select("events.body as eventBody")
		.where("deliveries.public_id", "=", publicId)
		.where("deliveries.receiver_id", "=", receiverId)
		.executeTakeFirst();
}

export async function listAttempts(db: Db, deliveryId: number) {
	return db
		.selectFrom("attempts")
		.leftJoin("endpoints", "endpoints.id", "attempts.endpoint_id")
		.selectAll("attempts")
		.select(["endpoints.url", "endpoints.form"])
		.where("attempts.delivery_id", "=", deliveryId)
		.orderBy("attempts.seq", "desc")
		.limit(MAX_SHOWN_ATTEMPTS)
		.execute();
}

// Reads the newest attempt of each of a few deliveries, for lists that show the last answer.

export interface LastAttempt extends Pick<AttemptsTable, "http_status" | "detail" | "answer"> {
	deliveryId: number;
	result: AttemptResult;
}

/** Returns the last attempt of each delivery. The field `attempts` is the number of that attempt. */
async function listLastAttempts(
	db: Db,
	deliveries: readonly Pick<DeliveryRow, "id" | "attempts">[],
): Promise<LastAttempt[]> {
	if (deliveries.length === 0) return [];
	const numbers = deliveries.map(
		({ id, attempts }) => sql`(cast(${id} as bigint), cast(${attempts} as integer))`,
	);
	const { rows } = await sql<LastAttempt>`
		select a.delivery_id as "deliveryId", a.result, a.http_status, a.detail, a.answer from attempts a
		where (a.delivery_id, a.seq) in (values ${sql.join(numbers)})`.execute(db);
	return rows;
}
