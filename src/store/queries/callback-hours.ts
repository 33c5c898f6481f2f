// How callbacks went, by the hour: one row a programme and hour, so that "the last 24 hours" and "the last 14
// days" are read from a few hundred rows however many deliveries there are.

import type { Db } from "../store.ts";

export interface CallbackCount {
	programmeId: number;
	hourMs: number;
	delivered: number;
	failed: number;
}

/** In one statement, in the order of the programmes: two engines that meet there must not wait for each other. */
export async function addCallbackCounts(trx: Db, counts: readonly CallbackCount[]): Promise<void> {
	if (counts.length === 0) return;
	const rows = counts
		.toSorted((a, b) => a.programmeId - b.programmeId || a.hourMs - b.hourMs)
		.map(({ programmeId, hourMs, delivered, failed }) => ({
			programme_id: programmeId,
			hour_ms: hourMs,
			delivered,
			failed,
		}));
	await trx
		.insertInto("callback_hours")
		.values(rows)
		.onConflict((conflict) =>
			conflict.columns(["programme_id", "hour_ms"]).doUpdateSet((eb) => ({
				delivered: eb("callback_hours.delivered", "+", eb.ref("excluded.delivered")),
				failed: eb("callback_hours.failed", "+", eb.ref("excluded.failed")),
			})),
		)
		.execute();
}

/** The oldest first; hours without an attempt are missing. */
export async function listCallbackHours(
	db: Db,
	programmeId: number,
	sinceMs: number,
): Promise<Omit<CallbackCount, "programmeId">[]> {
	return db
		.selectFrom("callback_hours")
		.select(["hour_ms as hourMs", "delivered", "failed"])
		.where("programme_id", "=", programmeId)
		.where("hour_ms", ">=", sinceMs)
		.orderBy("hour_ms")
		.execute();
}

export type CallbackTotals = Pick<CallbackCount, "delivered" | "failed">;

/** Of all programmes, along callback_hours_by_hour. */
export async function sumCallbacks(db: Db, fromMs: number, beforeMs: number): Promise<CallbackTotals> {
	const { delivered, failed } = await db
		.selectFrom("callback_hours")
		.select((eb) => [
			eb.fn.coalesce(eb.fn.sum<number>("delivered"), eb.lit(0)).as("delivered"),
			eb.fn.coalesce(eb.fn.sum<number>("failed"), eb.lit(0)).as("failed"),
		])
		.where("hour_ms", ">=", fromMs)
		.where("hour_ms", "<", beforeMs)
		.executeTakeFirstOrThrow();
	return { delivered: Number(delivered), failed: Number(failed) };
}

export async function pruneCallbackHours(db: Db, olderThanMs: number): Promise<void> {
	await db.deleteFrom("callback_hours").where("hour_ms", "<", olderThanMs).execute();
}
