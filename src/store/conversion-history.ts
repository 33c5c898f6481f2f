// What happened to one conversion: its moves and who made them.

import type { Selectable } from "kysely";
import type { Db } from "./store.ts";
import type { MovesTable } from "./tables/conversions.ts";
import type { Role } from "./tables/people.ts";

export interface HistoryMove extends Selectable<MovesTable> {
	person_email: string | null;
	person_role: Role | null;
}

/** The oldest first. */
export async function listMoves(db: Db, conversionId: number): Promise<HistoryMove[]> {
	return db
		.selectFrom("moves")
		.leftJoin("people", "people.id", "moves.person_id")
		.selectAll("moves")
		.select(["people.email as person_email", "people.role as person_role"])
		.where("moves.conversion_id", "=", conversionId)
		.orderBy("moves.id")
		.execute();
}
