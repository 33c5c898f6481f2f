// Callbacks that staff hold (`ringback hold`, or on System): one row while they do, which every engine, page and command
// reads. Nothing else holds them, so what it says is so, whatever was restarted or restored.

import { sql } from "kysely";
import type { Db } from "../store.ts";

export interface DeliveryPause {
	sinceMs: number;
	/** The e-mail of who holds them; null for the command line. */
	heldBy: string | null;
	/** Callbacks that wait, retries that are not due yet included. */
	waiting: number;
	/** Those of them that are sent as soon as they are released. */
	due: number;
}

export async function readIsHeld(db: Db): Promise<boolean> {
	return (await db.selectFrom("delivery_pause").select("one").executeTakeFirst()) !== undefined;
}

/** False when they are held already: the first says since when, and who. */
export async function beginPause(trx: Db, personId: number | null, nowMs: number): Promise<boolean> {
	const begun = await trx
		.insertInto("delivery_pause")
		.values({ one: 1, since_ms: nowMs, held_by: personId })
		.onConflict((conflict) => conflict.column("one").doNothing())
		.returning("one")
		.executeTakeFirst();
	return begun !== undefined;
}

/**
 * Callbacks go out again. Resolves to since when they were held; null when they were not. Trouble that nobody has been
 * told of counts its ten minutes on from where it was: for the time between, the shop had no chance to answer.
 */
export async function endPause(trx: Db, nowMs: number): Promise<number | null> {
	const ended = await trx.deleteFrom("delivery_pause").returning("since_ms").executeTakeFirst();
	if (ended === undefined) return null;
	const heldForMs = Math.max(0, nowMs - ended.since_ms);
	await trx
		.updateTable("notices")
		.set((eb) => ({ opened_at_ms: eb("opened_at_ms", "+", heldForMs) }))
		.where("told_at_ms", "is", null)
		.where("opened_at_ms", "<=", ended.since_ms)
		.execute();
	return ended.since_ms;
}

/** Null when nothing is held. */
export async function readPause(db: Db, nowMs: number): Promise<DeliveryPause | null> {
	const row = await db
		.selectFrom("delivery_pause")
		.leftJoin("people", "people.id", "delivery_pause.held_by")
		.select(["since_ms as sinceMs", "people.email as heldBy"])
		.executeTakeFirst();
	if (row === undefined) return null;
	const { rows } = await sql<{ waiting: number; due: number }>`
		select count(*) as waiting, count(case when due_at_ms <= ${nowMs} then 1 end) as due from queue`.execute(
		db,
	);
	return { ...row, waiting: rows[0]?.waiting ?? 0, due: rows[0]?.due ?? 0 };
}
