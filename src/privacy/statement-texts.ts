// Removes the parties and texts from statements of erased partners when the legal period has ended. The period is counted in
// years after the end of the year in which the statement was issued.

import { monthIn } from "../domain/statement.ts";
import type { Clock } from "../ports.ts";
import { eraseOldStatement } from "../store/queries/erased-rows.ts";
import { findTimeZone } from "../store/queries/sale-news.ts";
import type { Store } from "../store/store.ts";

/** Resolves to the number of statements. */
export async function eraseOldStatements(
	{ store, clock }: { store: Store; clock: Clock },
	years: number,
	isStopping: () => boolean,
): Promise<number> {
	const beforeYear =
		Number(monthIn(clock.nowMs(), await findTimeZone(store.db)).slice(0, "2026".length)) - years;
	let count = 0;
	while (!isStopping() && (await store.transact((trx) => eraseOldStatement(trx, beforeYear)))) {
		count += 1;
		await clock.yieldLoop();
	}
	return count;
}
