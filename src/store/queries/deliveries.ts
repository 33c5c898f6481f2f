// Finds deliveries, and puts finished ones back into the queue.

import { type Selectable, sql } from "kysely";
import type { Clock } from "../../ports.ts";
import type { Db } from "../store.ts";
import type { DeliveriesTable } from "../tables/deliveries.ts";
import { BATCH_ROWS, findSendingEpoch, valueList } from "./bring-forward.ts";

export type Delivery = Selectable<DeliveriesTable>;

/** Returns those of the deliveries that belong to the programme. */
export async function findDeliveries(
	db: Db,
	programmeId: number,
	publicIds: readonly string[],
): Promise<Delivery[]> {
	if (publicIds.length === 0) return [];
	return db
		.selectFrom("deliveries")
		.selectAll()
		.where("public_id", "in", publicIds)
		.where("receiver_id", "=", programmeId)
		.execute();
}

/** Range of the time of the final failure, including both ends. */
export interface FailedSpan {
	fromMs?: number | undefined;
	untilMs: number;
}

/** Returns failed deliveries that were neither resent nor set aside, the oldest failures first. */
export async function failedWithin(
	db: Db,
	programmeId: number,
	{ fromMs = 0, untilMs }: FailedSpan,
	limit: number,
): Promise<Delivery[]> {
	return db
		.selectFrom("deliveries")
		.selectAll()
		.where("receiver_id", "=", programmeId)
		.where("failed_at_ms", ">=", fromMs)
		.where("failed_at_ms", "<=", untilMs)
		.where("set_aside", "is", null)
		.orderBy("failed_at_ms")
		.limit(limit)
		.execute();
}

/** Yields failed deliveries in batches. The caller must resend or set aside each batch, or it gets the same one again. */
export async function* walkFailed(db: Db, clock: Clock, programmeId: number, span: FailedSpan) {
	for (let found = BATCH_ROWS; found === BATCH_ROWS; await clock.yieldLoop()) {
		const failed = await failedWithin(db, programmeId, span, BATCH_ROWS);
		if (failed.length > 0) yield failed;
		found = failed.length;
	}
}

export type FailedProgramme = Awaited<ReturnType<typeof listFailedProgrammes>>[number];

/** Lists programmes with a Postback URL and failed callbacks in the span, most failures first. May be limited to one. */
export async function listFailedProgrammes(
	db: Db,
	{ fromMs = 0, untilMs }: FailedSpan,
	programmePublicId: string | undefined,
) {
	return db
		.selectFrom("deliveries")
		.innerJoin("programmes", "programmes.id", "deliveries.receiver_id")
		.select((eb) => [
			"programmes.id",
			"programmes.public_id as publicId",
			"programmes.name",
			eb.fn.countAll<number>().as("failed"),
			eb.fn.min<number>("failed_at_ms").as("oldestAtMs"),
			eb.fn.max<number>("failed_at_ms").as("newestAtMs"),
		])
		.where("failed_at_ms", ">=", fromMs)
		.where("failed_at_ms", "<=", untilMs)
		.where("set_aside", "is", null)
		.where("programmes.endpoint_id", "is not", null)
		.$if(programmePublicId !== undefined, (query) =>
			query.where("programmes.public_id", "=", programmePublicId ?? ""),
		)
		.groupBy(["programmes.id", "programmes.public_id", "programmes.name"])
		.orderBy("failed", "desc")
		.orderBy("programmes.id")
		.execute();
}

/** Sets aside deliveries that are still failed. One that was resent meanwhile must stay visible if it fails again. */
export async function setAside(trx: Db, rows: readonly { id: number }[]): Promise<readonly unknown[]> {
	if (rows.length === 0) return [];
	const ids = rows.map(({ id }) => id);
	const failed = trx.updateTable("deliveries").where("id", "in", ids).where("failed_at_ms", "is not", null);
	return failed.set({ set_aside: 1 }).returning("id").execute();
}

/** Starts a new run of each delivery and returns the started ones, or null if there is no URL or no secret. */
export async function requeue(
	trx: Db,
	programmeId: number,
	deliveries: readonly Delivery[],
	nowMs: number,
): Promise<Delivery[] | null> {
	const epoch = await findSendingEpoch(trx, programmeId);
	if (epoch === undefined) return null;
	if (deliveries.length === 0) return [];
	// The condition on the state makes two people who press the button at once start only one run. The condition on the
	// ids keeps SQLite from reading the whole table if there are hundreds.
	const list = deliveries.map(({ id, state, run }) => ({ id, state, run }));
	const columns = { id: "bigint", state: "text", run: "integer" } as const;
	const { rows } = await sql<{ id: number }>`with ${valueList("found", columns, list)}
		update deliveries set state = 'pending', run = deliveries.run + 1, finished_at_ms = null, failed_at_ms = null,
			set_aside = null
			from found
			where deliveries.id = found.id and deliveries.state = found.state and deliveries.run = found.run
				and deliveries.id in (select id from found)
			returning deliveries.id`.execute(trx);
	const ids = new Set(rows.map(({ id }) => id));
	const started = deliveries.filter(({ id }) => ids.has(id));
	if (started.length === 0) return [];
	await trx
		.insertInto("queue")
		.values(
			started.map(({ id, run, attempts }) => ({
				id,
				receiver_id: programmeId,
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
