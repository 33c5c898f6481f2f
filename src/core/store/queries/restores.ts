// Restores of the database. Payments that were recorded after the backup are missing from it, so a statement that is
// still to be paid according to the database may have been paid already. Staff compare the payments with the bank and
// confirm that.

import type { Selectable } from "kysely";
import { type Locked, lockRows } from "../locked.ts";
import type { Db } from "../store.ts";
import type { RestoresTable } from "../tables/network.ts";

export type Restore = Selectable<RestoresTable>;

/** Restores after which nobody has compared payments with the bank yet. */
export interface Uncompared {
	/** Time of the earliest backup that was restored. Payments that were recorded after it may be missing. */
	asOfMs: number;
	restoredAtMs: number;
	/** Id of the last restore. The confirmation names it, so that it does not cover a later restore. */
	lastId: number;
}

export async function recordRestore(trx: Db, times: { asOfMs: number; restoredAtMs: number }): Promise<void> {
	await trx
		.insertInto("restores")
		.values({ as_of_ms: times.asOfMs, restored_at_ms: times.restoredAtMs })
		.execute();
}

/** Returns null if payments were compared since the last restore, or if the database was never restored. */
export async function findUncompared(db: Db): Promise<Uncompared | null> {
	const open = await db.selectFrom("restores").selectAll().where("compared_at_ms", "is", null).execute();
	if (open.length === 0) return null;
	return {
		asOfMs: Math.min(...open.map(({ as_of_ms }) => as_of_ms)),
		restoredAtMs: Math.max(...open.map(({ restored_at_ms }) => restored_at_ms)),
		lastId: Math.max(...open.map(({ id }) => id)),
	};
}

/** Locks the restores up to `lastId` after which nobody has compared payments yet. */
export function lockUncompared(trx: Db, lastId: number): Promise<Locked<Restore>[]> {
	const open = trx.selectFrom("restores").selectAll().where("compared_at_ms", "is", null);
	return lockRows(trx, open.where("id", "<=", lastId).orderBy("id"));
}

export async function markCompared(
	trx: Db,
	restores: readonly Locked<Restore>[],
	personId: number | null,
	nowMs: number,
): Promise<void> {
	const ids = restores.map(({ id }) => id);
	await trx
		.updateTable("restores")
		.set({ compared_at_ms: nowMs, compared_by: personId })
		.where("id", "in", ids)
		.execute();
}
