// Finds deliveries, and puts finished ones back into the queue.

import { type Selectable, sql } from "kysely";
import type { EventName } from "../../domain/event-name.ts";
import type { ReceiverId, ReceiverKind } from "../../domain/receiver.ts";
import type { Clock } from "../../ports.ts";
import { lockRows } from "../locked.ts";
import type { Db } from "../store.ts";
import type { DeliveriesView } from "../tables/deliveries.ts";
import { BATCH_ROWS, findSendingEpoch } from "./bring-forward.ts";

/** State of a delivery when it was read. A resend starts a new run only if the delivery is still in this state. */
export type Delivery = Pick<Selectable<DeliveriesView>, "id" | "public_id" | "state" | "run" | "attempts">;
const DELIVERY = ["id", "public_id", "state", "run", "attempts"] as const;

/** Returns the deliveries with these public ids. Deliveries of other receivers are left out. */
export async function findDeliveries(
	db: Db,
	receiverId: ReceiverId,
	publicIds: readonly string[],
): Promise<Delivery[]> {
	if (publicIds.length === 0) return [];
	return db
		.selectFrom("deliveries")
		.select(DELIVERY)
		.where("public_id", "in", publicIds)
		.where("receiver_id", "=", receiverId)
		.execute();
}

/** Parts of a delivery's name in log lines. */
export interface NamedDelivery {
	publicId: string;
	name: EventName;
	kind: ReceiverKind;
}

/** Returns the names of deliveries for the log, by the deliveries' ids. */
export async function nameDeliveries(
	db: Db,
	ids: readonly number[],
): Promise<ReadonlyMap<number, NamedDelivery>> {
	const rows = await db
		.selectFrom("events")
		.innerJoin("receivers", "receivers.id", "events.receiver_id")
		.select(["events.id", "events.public_id as publicId", "events.name", "receivers.kind"])
		.where("events.id", "in", ids)
		.execute();
	return new Map(rows.map(({ id, ...delivery }) => [id, delivery]));
}

/** Range of times at which deliveries finally failed. Both ends are included. */
export interface FailedSpan {
	fromMs?: number | undefined;
	untilMs: number;
}

/** Selects failed deliveries that were neither resent nor set aside. Uses the index undelivered_in_sight. */
function selectFailed(db: Db, { fromMs = 0, untilMs }: FailedSpan) {
	return (
		db
			.selectFrom("undelivered")
			// The state is a literal and not a parameter, because SQLite uses the partial index only if the condition is a
			// literal.
			.where("undelivered.state", "=", sql.lit("failed"))
			.where("undelivered.set_aside", "is", null)
			.where("undelivered.ended_at_ms", ">=", fromMs)
			.where("undelivered.ended_at_ms", "<=", untilMs)
	);
}

/** Returns failed deliveries that were neither resent nor set aside, the oldest failures first. */
export async function failedWithin(
	db: Db,
	receiverId: ReceiverId,
	span: FailedSpan,
	limit: number,
): Promise<Delivery[]> {
	return selectFailed(db, span)
		.innerJoin("deliveries", "deliveries.id", "undelivered.id")
		.select(DELIVERY.map((column) => `deliveries.${column}` as const))
		.where("undelivered.receiver_id", "=", receiverId)
		.orderBy("undelivered.ended_at_ms")
		.limit(limit)
		.execute();
}

/**
 * Yields failed deliveries in batches. The caller must resend or set aside each batch, because otherwise the next
 * batch is the same.
 */
export async function* walkFailed(db: Db, clock: Clock, receiverId: ReceiverId, span: FailedSpan) {
	for (let found = BATCH_ROWS; found === BATCH_ROWS; await clock.yieldLoop()) {
		const failed = await failedWithin(db, receiverId, span, BATCH_ROWS);
		if (failed.length > 0) yield failed;
		found = failed.length;
	}
}

export type FailedReceiver = Awaited<ReturnType<typeof listFailedReceivers>>[number];

/**
 * Lists receivers that have a URL and callbacks that failed in the span. The receiver with the most failures comes
 * first. If the public id of a programme or partner is given, only its receiver is listed.
 */
export async function listFailedReceivers(db: Db, span: FailedSpan, ownerPublicId: string | undefined) {
	const rows = await selectFailed(db, span)
		// This condition is always true. It makes SQLite search the index instead of reading it from end to end.
		.where(sql<boolean>`undelivered.receiver_id > 0`)
		.innerJoin("receivers", "receivers.id", "undelivered.receiver_id")
		.leftJoin("programmes", "programmes.id", "receivers.programme_id")
		.leftJoin("partners", "partners.id", "receivers.partner_id")
		.select((eb) => [
			"receivers.kind",
			"receivers.id as receiver_id",
			eb.fn.coalesce("programmes.id", "partners.id", sql.lit(0)).as("id"),
			eb.fn.coalesce("programmes.public_id", "partners.public_id", sql.lit("")).as("publicId"),
			eb.fn.coalesce("programmes.name", "partners.name", sql.lit("")).as("name"),
			eb.fn.countAll<number>().as("failed"),
			eb.fn.min<number>("ended_at_ms").as("oldestAtMs"),
			eb.fn.max<number>("ended_at_ms").as("newestAtMs"),
		])
		.where("receivers.endpoint_id", "is not", null)
		.$if(ownerPublicId !== undefined, (query) =>
			query.where((eb) =>
				eb.or([
					eb("programmes.public_id", "=", ownerPublicId ?? ""),
					eb("partners.public_id", "=", ownerPublicId ?? ""),
				]),
			),
		)
		.groupBy([
			"receivers.kind",
			"receivers.id",
			"programmes.id",
			"partners.id",
			"programmes.public_id",
			"partners.public_id",
			"programmes.name",
			"partners.name",
		])
		.orderBy("failed", "desc")
		.orderBy("receivers.id")
		.execute();
	return rows.map((row) =>
		row.kind === "partner" ? { ...row, partner: { id: row.id, public_id: row.publicId } } : row,
	);
}

/**
 * Sets aside deliveries that are still failed. A delivery that was resent meanwhile is not changed, so that it stays
 * visible if it fails again.
 */
export async function setAside(trx: Db, rows: readonly { id: number }[]): Promise<readonly unknown[]> {
	if (rows.length === 0) return [];
	const ids = rows.map(({ id }) => id);
	const failed = trx.updateTable("undelivered").where("id", "in", ids).where("state", "=", "failed");
	return failed.set({ set_aside: 1 }).returning("id").execute();
}

/**
 * Starts a new run of each delivery. Returns the deliveries that were started, or null if the receiver has no URL or
 * no secret.
 */
export async function requeue(
	trx: Db,
	receiverId: ReceiverId,
	deliveries: readonly Delivery[],
	nowMs: number,
): Promise<Delivery[] | null> {
	const epoch = await findSendingEpoch(trx, receiverId);
	if (epoch === undefined) return null;
	if (deliveries.length === 0) return [];
	const ids = deliveries.map(({ id }) => id);
	// If two people press the button at once, the second request waits here and then finds the delivery in another run.
	// The event is locked, because a delivered event has no other row that could be locked.
	await lockEvents(trx, ids);
	const present = await trx
		.selectFrom("deliveries")
		.select(["id", "state", "run"])
		.where("id", "in", ids)
		.execute();
	const presentOf = new Map(present.map((delivery) => [delivery.id, delivery]));
	const started = deliveries.filter(({ id, state, run }) => {
		const now = presentOf.get(id);
		return now?.state === state && now.run === run && state !== "pending";
	});
	if (started.length === 0) return [];
	const startedIds = started.map(({ id }) => id);
	await trx.deleteFrom("undelivered").where("id", "in", startedIds).execute();
	await trx
		.insertInto("queue")
		.values(
			started.map(({ id, run, attempts }) => ({
				id,
				receiver_id: receiverId,
				due_at_ms: nowMs,
				endpoint_epoch: epoch,
				run: run + 1,
				counted: 0,
				seq: attempts,
			})),
		)
		.execute();
	return started;
}

/**
 * Locks events until the transaction ends, so that no other transaction can resend or remove them. Returns the ids of
 * the events that exist.
 */
export async function lockEvents(trx: Db, ids: readonly number[]): Promise<number[]> {
	const events = await lockRows(
		trx,
		trx.selectFrom("events").select("id").where("id", "in", ids).orderBy("id"),
	);
	return events.map(({ id }) => id);
}
