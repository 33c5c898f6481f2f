// Callbacks that are held on purpose (RINGBACK_DELIVERY=paused): since when, and how many wait. One row while a worker
// was last started with them held, so that every process, page and command knows.

import { sql } from "kysely";
import type { Db, Store } from "../store.ts";
import { SILENT_MS } from "./queue.ts";

export interface DeliveryPause {
	sinceMs: number;
	/** Callbacks that wait, retries that are not due yet included. */
	waiting: number;
	/** Another process was started without the setting, and sends. */
	isSentElsewhere: boolean;
}

/** The first to hold them says since when; a restart changes nothing. */
export async function beginPause(db: Db, nowMs: number): Promise<void> {
	await db
		.insertInto("delivery_pause")
		.values({ one: 1, since_ms: nowMs })
		.onConflict((conflict) => conflict.column("one").doNothing())
		.execute();
}

/**
 * Callbacks go out again. Resolves to since when they were held; null when they were not. Trouble that nobody has been
 * told of counts its ten minutes on from where it was: for the time between, the shop had no chance to answer.
 */
export async function endPause(store: Store, nowMs: number): Promise<number | null> {
	// Asked first: hardly ever is there something to write.
	const row = await store.db.selectFrom("delivery_pause").select("since_ms").executeTakeFirst();
	if (row === undefined) return null;
	return store.transact(async (trx) => {
		const ended = await trx.deleteFrom("delivery_pause").returning("since_ms").executeTakeFirst();
		// Another process was faster.
		if (ended === undefined) return null;
		const heldForMs = Math.max(0, nowMs - ended.since_ms);
		await trx
			.updateTable("notices")
			.set((eb) => ({ opened_at_ms: eb("opened_at_ms", "+", heldForMs) }))
			.where("told_at_ms", "is", null)
			.where("opened_at_ms", "<=", ended.since_ms)
			.execute();
		return ended.since_ms;
	});
}

/** Null when nothing is held. */
export async function readPause(db: Db, nowMs: number): Promise<DeliveryPause | null> {
	const row = await db.selectFrom("delivery_pause").select("since_ms").executeTakeFirst();
	if (row === undefined) return null;
	const { rows } = await sql<{ waiting: number }>`select count(*) as waiting from queue`.execute(db);
	const engine = await db
		.selectFrom("engines")
		.select("id")
		.where("renewed_at_ms", ">", nowMs - SILENT_MS)
		.limit(1)
		.executeTakeFirst();
	return { sinceMs: row.since_ms, waiting: rows[0]?.waiting ?? 0, isSentElsewhere: engine !== undefined };
}
