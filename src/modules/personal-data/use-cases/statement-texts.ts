// Removes the parties and texts from statements of erased partners when the legal period has ended. The period is counted in
// years after the end of the year in which the statement was issued.

import type { Clock } from "#core/ports.ts";
import type { Store } from "#core/store/store.ts";
import { monthIn } from "#modules/accounts/domain/statement.ts";
import { findTimeZone } from "#modules/partners/store/sale-news.ts";
import { eraseOldStatement } from "../store/erased-rows.ts";

/** Removes the texts of all statements whose legal period has ended. Resolves to the number of statements. */
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
