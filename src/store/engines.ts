// An engine's lease begins and ends: one row for each engine that runs. In between, a pass renews it: see queue.ts.

import { LEASE_MS } from "./queue.ts";
import type { Db } from "./store.ts";

/** The number is drawn by the caller, large enough that none is ever drawn twice. */
export async function registerEngine(db: Db, engineId: number, nowMs: number): Promise<void> {
	await db
		.insertInto("engines")
		.values({ id: engineId, good_until_ms: nowMs + LEASE_MS, held: 0 })
		.execute();
}

/**
 * After everything in hand was settled and its lanes were passed on. Where a lane could not be, because somebody was
 * writing it, the lease lapses now: the next engine that looks takes it over.
 */
export async function endEngine(trx: Db, engineId: number): Promise<void> {
	await trx.deleteFrom("handouts").where("engine_id", "=", engineId).execute();
	const { numDeletedRows } = await trx
		.deleteFrom("engines")
		.where("id", "=", engineId)
		.where(({ not, exists, selectFrom }) =>
			not(exists(selectFrom("lanes").select("receiver_id").where("engine_id", "=", engineId))),
		)
		.executeTakeFirst();
	if (numDeletedRows > 0n) return;
	await trx.updateTable("engines").set({ good_until_ms: 0 }).where("id", "=", engineId).execute();
}
