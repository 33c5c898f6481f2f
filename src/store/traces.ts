// The trace of a conversion, from the call that reported or decided it to the process that sends the callback.

import { sql } from "kysely";
import { readTraceparent, type TraceContext, writeTraceparent } from "../domain/trace.ts";
import type { Db } from "./store.ts";

/** In the transaction of what is traced. A later call about the same conversion takes it over. */
export async function saveTraces(
	trx: Db,
	traced: readonly { conversionId: number; context: TraceContext }[],
	nowMs: number,
): Promise<void> {
	// Of two calls about one conversion the last counts; in the order of the key, so that nobody waits in a circle.
	const byId = new Map(traced.map(({ conversionId, context }) => [conversionId, writeTraceparent(context)]));
	if (byId.size === 0) return;
	await trx
		.insertInto("traces")
		.values(
			[...byId]
				.toSorted(([a], [b]) => a - b)
				.map(([conversionId, traceparent]) => ({ conversion_id: conversionId, traceparent, at_ms: nowMs })),
		)
		.onConflict((conflict) =>
			conflict.column("conversion_id").doUpdateSet((eb) => ({
				traceparent: eb.ref("excluded.traceparent"),
				at_ms: eb.ref("excluded.at_ms"),
			})),
		)
		.execute();
}

/** Of these deliveries, those that belong to a trace. */
export async function findTraces(
	db: Db,
	deliveryIds: readonly number[],
): Promise<ReadonlyMap<number, TraceContext>> {
	const found = new Map<number, TraceContext>();
	for (let start = 0; start < deliveryIds.length; start += MAX_ASKED_AT_ONCE) {
		const rows = await db
			.selectFrom("events")
			.innerJoin("traces", "traces.conversion_id", "events.conversion_id")
			.select(["events.id", "traces.traceparent"])
			.where("events.id", "in", deliveryIds.slice(start, start + MAX_ASKED_AT_ONCE))
			.execute();
		for (const { id, traceparent } of rows) {
			const context = readTraceparent(traceparent);
			if (context !== null) found.set(id, context);
		}
	}
	return found;
}

/** A statement's parameters are limited. */
const MAX_ASKED_AT_ONCE = 500;
/** A step of removing: short enough to stand between two callers. */
const REMOVED_AT_ONCE = 1_000;

export async function pruneTraces(db: Db, olderThanMs: number): Promise<void> {
	for (;;) {
		const old = db
			.selectFrom("traces")
			.select("conversion_id")
			.where("at_ms", "<", olderThanMs)
			.orderBy("at_ms")
			.limit(sql.lit(REMOVED_AT_ONCE));
		const ids = (await old.execute()).map(({ conversion_id }) => conversion_id);
		if (ids.length === 0) return;
		await db.deleteFrom("traces").where("conversion_id", "in", ids).execute();
	}
}
