// "Postbacks sent to your shop": a programme's deliveries as a list, along the index that fits the question.

import type { Cursor } from "../../domain/cursor.ts";
import type { DeliveryState } from "../../domain/delivery.ts";
import type { EventName } from "../../domain/event-name.ts";
import type { Db } from "../store.ts";
import { type LastAttempt, listLastAttempts } from "./last-attempts.ts";
import { endId, type ListPage, type PageRequest, readListPage, walkOf } from "./list-page.ts";
import { listNewestAnswers } from "./local-answers.ts";

export interface DeliveryFilter extends PageRequest {
	programmeId: number;
	state?: DeliveryState | undefined;
	event?: EventName | undefined;
	/** The whole one. */
	orderId?: string | undefined;
}

type DeliveryRow = Awaited<ReturnType<typeof readNewest>>[number];

export interface ListedDelivery extends DeliveryRow {
	/** Of one that is tried and not delivered: the status that was received last may be of an earlier attempt. */
	lastAttempt: LastAttempt | null;
}

/** More than a page shows at once. */
const WATCHED_ROWS = 50;
/** An order has a conversion for each of seven event types, and each of them four events. */
const MAX_OF_ONE_ORDER = 28;

/** The newest first; failed ones by when they failed, pending ones by when they are due. */
export async function listDeliveries(db: Db, filter: DeliveryFilter): Promise<ListPage<ListedDelivery>> {
	const page = await readPage(db, filter);
	return { ...page, rows: await withLastAttempts(db, page.rows) };
}

async function readPage(db: Db, filter: DeliveryFilter): Promise<ListPage<DeliveryRow>> {
	const { state, event, orderId } = filter;
	const matches = (row: DeliveryRow) =>
		(state === undefined || row.state === state) && (event === undefined || row.event === event);
	if (orderId !== undefined) {
		const rows = await readOfOrder(db, filter.programmeId, orderId);
		return { rows: rows.filter(matches), next: null, isPartial: false };
	}
	const isFiltered = event !== undefined || state === "delivered" || state === "cancelled";
	const cursorOf = (row: DeliveryRow) => ({ at: sortedBy(row, state), id: row.id });
	const read = (after: Cursor | undefined, limit: number) => readRows(db, filter, after, limit);
	return readListPage(walkOf(read, cursorOf, isFiltered ? matches : undefined), filter);
}

/** What the newest deliveries, calls and answers of listeners have come to: compared every second by whoever watches. */
export async function newestProgress(db: Db, programmeId: number): Promise<string> {
	const deliveries = await db
		.selectFrom("deliveries")
		.select(["id", "state", "run", "attempts", "last_attempt_at_ms"])
		.where("receiver_id", "=", programmeId)
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
	const [answer] = await listNewestAnswers(db, programmeId, 1);
	return JSON.stringify([deliveries.map((row) => Object.values(row)), call?.id ?? 0, answer?.id ?? 0]);
}

export async function listDeliveriesOfConversion(db: Db, conversionId: number): Promise<ListedDelivery[]> {
	const rows = await selectDeliveries(db)
		.where("events.conversion_id", "=", conversionId)
		.orderBy("deliveries.id")
		.execute();
	return withLastAttempts(db, rows);
}

async function withLastAttempts(db: Db, rows: readonly DeliveryRow[]): Promise<ListedDelivery[]> {
	const tried = rows.filter(({ state, attempts }) => state !== "delivered" && attempts > 0);
	const last = await listLastAttempts(
		db,
		tried.map(({ id }) => id),
	);
	const lastOf = new Map(last.map((attempt) => [attempt.deliveryId, attempt]));
	return rows.map((row) => ({ ...row, lastAttempt: lastOf.get(row.id) ?? null }));
}

function sortedBy(row: DeliveryRow, state: DeliveryState | undefined): number {
	if (state === "failed") return row.failedAtMs ?? 0;
	if (state === "pending") return row.dueAtMs ?? 0;
	return row.id;
}

function readRows(
	db: Db,
	{ programmeId, state }: DeliveryFilter,
	after: Cursor | undefined,
	limit: number,
): Promise<DeliveryRow[]> {
	if (state === "failed") return readFailed(db, programmeId, after, limit);
	if (state === "pending") return readPending(db, programmeId, after, limit);
	return readNewest(db, programmeId, after, limit);
}

/** What every list of deliveries, and each one's own page, shows of them. */
export function selectDeliveries(db: Db) {
	return db
		.selectFrom("deliveries")
		.innerJoin("events", "events.id", "deliveries.id")
		.innerJoin("conversions", "conversions.id", "events.conversion_id")
		.leftJoin("queue", "queue.id", "deliveries.id")
		.select((eb) => eb("deliveries.attempts", "-", eb.ref("deliveries.interrupted")).as("attempts"))
		.select([
			"deliveries.id",
			"deliveries.public_id as publicId",
			"deliveries.state",
			"deliveries.run",
			// What a form sends back: the number of the last attempt that its reader saw.
			"deliveries.attempts as seq",
			"deliveries.last_http_status as lastHttpStatus",
			"deliveries.created_at_ms as createdAtMs",
			"deliveries.last_attempt_at_ms as lastAttemptAtMs",
			"deliveries.failed_at_ms as failedAtMs",
			"events.name as event",
			"conversions.order_id as orderId",
			"conversions.test",
			"queue.due_at_ms as dueAtMs",
		]);
}

/** Along deliveries_by_receiver. */
function readNewest(db: Db, programmeId: number, after: Cursor | undefined, limit: number) {
	return selectDeliveries(db)
		.where("deliveries.receiver_id", "=", programmeId)
		.where("deliveries.id", "<", endId(after))
		.orderBy("deliveries.id", "desc")
		.limit(limit)
		.execute();
}

/** Along deliveries_failed. */
function readFailed(db: Db, programmeId: number, after: Cursor | undefined, limit: number) {
	return selectDeliveries(db)
		.where("deliveries.receiver_id", "=", programmeId)
		.where("deliveries.failed_at_ms", "is not", null)
		.$if(after !== undefined, (query) =>
			query.where(({ eb, refTuple, tuple }) =>
				eb(refTuple("deliveries.failed_at_ms", "deliveries.id"), "<", tuple(after?.at ?? 0, after?.id ?? 0)),
			),
		)
		.orderBy("deliveries.failed_at_ms", "desc")
		.orderBy("deliveries.id", "desc")
		.limit(limit)
		.execute();
}

/** Along queue_by_due: the queue has a row exactly while a delivery is pending. */
function readPending(db: Db, programmeId: number, after: Cursor | undefined, limit: number) {
	return selectDeliveries(db)
		.where("queue.receiver_id", "=", programmeId)
		.$if(after !== undefined, (query) =>
			query.where(({ eb, refTuple, tuple }) =>
				eb(refTuple("queue.due_at_ms", "queue.id"), ">", tuple(after?.at ?? 0, after?.id ?? 0)),
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
