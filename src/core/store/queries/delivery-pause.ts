// Holds all callbacks, for `ringback hold` and the System page. A single row exists while callbacks are held, and
// every engine, page and command reads this row. No process keeps this state in memory, so it is right even after a
// restart or a restore.

import { sql } from "kysely";
import type { Db } from "../store.ts";

export interface DeliveryPause {
	sinceMs: number;
	/** Email address of the person who held the callbacks, or null for the command line. */
	heldBy: string | null;
	/** Number of pending callbacks, including retries that are not due yet. */
	waiting: number;
	/** Number of callbacks that would be sent at once after a release. */
	due: number;
}

export async function readIsHeld(db: Db): Promise<boolean> {
	return (await db.selectFrom("delivery_pause").select("one").executeTakeFirst()) !== undefined;
}

/**
 * Holds all callbacks. Returns false if they are already held. The row then still names the person who held them
 * first, and the time.
 */
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
 * Releases all callbacks. Resolves to the time since which they were held, or null if they were not held. A notice
 * becomes visible after ten minutes of failures. The time of the hold does not count towards these ten minutes, because
 * the shop had no chance to answer.
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

/** Returns the present hold with the numbers of waiting and due callbacks, or null if callbacks are not held. */
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
