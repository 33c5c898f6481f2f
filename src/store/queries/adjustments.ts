// Bonuses and corrections that statements contain.

import type { Db } from "../store.ts";
import type { Entry } from "../tables/money.ts";

/** Maximum number of adjustments that a statement lists. The file with its entries has all of them. */
export const MAX_LISTED_ADJUSTMENTS = 200;

/** Lists the bonuses and corrections of a statement in the order in which they were entered. */
export function listAdjustments(db: Db, statementId: number): Promise<Entry[]> {
	return db
		.selectFrom("statement_entries")
		.innerJoin("entries", "entries.id", "statement_entries.entry_id")
		.selectAll("entries")
		.where("statement_entries.statement_id", "=", statementId)
		.where("entries.kind", "=", "ADJUSTED")
		.orderBy("statement_entries.entry_id")
		.limit(MAX_LISTED_ADJUSTMENTS)
		.execute();
}
