// Stores the names that callers of the APIs gave to the resources that they created.

import type { Insertable, Selectable } from "kysely";
import type { Db } from "#core/store/store.ts";
import type { ApiReferencesTable } from "./tables.ts";

export type ApiReference = Selectable<ApiReferencesTable>;

export function findReference(
	db: Db,
	{ owner_id, kind, reference }: Pick<ApiReference, "owner_id" | "kind" | "reference">,
): Promise<ApiReference | undefined> {
	return db
		.selectFrom("api_references")
		.selectAll()
		.where("owner_id", "=", owner_id)
		.where("kind", "=", kind)
		.where("reference", "=", reference)
		.executeTakeFirst();
}

/** Stores a reference. Returns false if the owner has already used it for this kind. */
export async function insertReference(trx: Db, row: Insertable<ApiReferencesTable>): Promise<boolean> {
	const { numInsertedOrUpdatedRows } = await trx
		.insertInto("api_references")
		.values(row)
		.onConflict((conflict) => conflict.columns(["owner_id", "kind", "reference"]).doNothing())
		.executeTakeFirst();
	return numInsertedOrUpdatedRows !== 0n;
}
