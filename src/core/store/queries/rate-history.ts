// Writes the history of a programme's rates. New rates must be stored in the history before the programme is updated,
// because a trigger stores the rates of every update for which this was not done (schema/rates-on-record.ts).

import type { Selectable } from "kysely";
import type { Db } from "../store.ts";
import type { ProgrammeRatesTable } from "../tables/programmes.ts";

type ProgrammeRow = Selectable<ProgrammeRatesTable>;

/** Stores that these rates apply from `atMs` on. The caller must hold the lock of the programme. */
export async function storeProgrammeRates(
	trx: Db,
	programme_id: number,
	rates: Pick<ProgrammeRow, "commission_rate" | "fee_rate" | "event_rates">,
	atMs: number,
): Promise<void> {
	const newest = await trx
		.selectFrom("programme_rates")
		.select("from_ms")
		.where("programme_id", "=", programme_id)
		.orderBy("from_ms", "desc")
		.limit(1)
		.executeTakeFirst();
	const { commission_rate, fee_rate, event_rates } = rates;
	const row = { commission_rate, fee_rate, event_rates };
	await trx
		.insertInto("programme_rates")
		.values({ programme_id, from_ms: beginOfRates(newest, atMs), ...row })
		.onConflict((conflict) => conflict.columns(["programme_id", "from_ms"]).doUpdateSet(row))
		.execute();
}

/**
 * Returns the time from which new rates apply. Rates that applied for no time are replaced. If the clock was set
 * back, the new rates still come after the previous rates.
 */
export function beginOfRates(newest: { from_ms: number } | undefined, atMs: number): number {
	if (newest === undefined || newest.from_ms <= atMs) return atMs;
	return newest.from_ms + 1;
}
