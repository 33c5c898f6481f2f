// Erasures of people and partners, and the state of the work that follows each of them.

import type { Insertable } from "kysely";
import { type Locked, lockRow } from "#core/store/locked.ts";
import { type ListPage, type PageRequest, readListPage, walkNewest } from "#core/store/queries/list-page.ts";
import type { Db } from "#core/store/store.ts";
import type { Erasure, ErasuresTable } from "./tables.ts";

export type { Erasure } from "./tables.ts";

export function insertErasure(trx: Db, erasure: Insertable<ErasuresTable>): Promise<Erasure> {
	return trx.insertInto("erasures").values(erasure).returningAll().executeTakeFirstOrThrow();
}

export function findErasure(db: Db, publicId: string): Promise<Erasure | undefined> {
	return db.selectFrom("erasures").selectAll().where("public_id", "=", publicId).executeTakeFirst();
}

/** Returns the erasure whose next step has been due longest. */
export function findDueErasure(db: Db, nowMs: number): Promise<Erasure | undefined> {
	return db
		.selectFrom("erasures")
		.selectAll()
		.where("due_at_ms", "<=", nowMs)
		.orderBy("due_at_ms")
		.orderBy("id")
		.limit(1)
		.executeTakeFirst();
}

/** Lists all erasures, the newest first. */
export function listErasures(db: Db, request: PageRequest): Promise<ListPage<Erasure>> {
	return readListPage(walkNewest(db, db.selectFrom("erasures").selectAll(), "erasures.id"), request);
}

/** Returns the public ids of all erased people and partners, in the order of the erasures. */
export async function listErasedIds(db: Db): Promise<string[]> {
	const erasures = db.selectFrom("erasures").select("public_id").orderBy("id");
	return (await erasures.execute()).map(({ public_id }) => public_id);
}

/**
 * Returns the given ids that belong to a person or partner. The query also works with the schema of earlier
 * versions.
 */
export async function listPresentIds(db: Db, publicIds: readonly string[]): Promise<ReadonlySet<string>> {
	const asked = ["", ...publicIds];
	const people = db.selectFrom("people").select("public_id").where("public_id", "in", asked);
	const partners = db.selectFrom("partners").select("public_id").where("public_id", "in", asked);
	return new Set((await people.unionAll(partners).execute()).map(({ public_id }) => public_id));
}

export function lockErasure(trx: Db, id: number): Promise<Locked<Erasure> | undefined> {
	return lockRow(trx, trx.selectFrom("erasures").selectAll().where("id", "=", id));
}

export async function advanceErasure(
	trx: Db,
	{ id }: Locked<Erasure>,
	change: Partial<
		Pick<Erasure, "round" | "step" | "position" | "due_at_ms" | "finished_at_ms" | "sealed_words">
	>,
): Promise<void> {
	await trx.updateTable("erasures").set(change).where("id", "=", id).execute();
}
