// Writes the history of rates. A writer notes new rates before it updates the programme or the partnership, because a
// trigger notes each update that nobody has noted (schema/rates-on-record.ts).

import type { Selectable } from "kysely";
import type { PartnershipRatesTable } from "#modules/partners/store/tables.ts";
import type { Db } from "../store.ts";
import type { ProgrammeRatesTable } from "../tables/programmes.ts";

type ProgrammeRow = Selectable<ProgrammeRatesTable>;
type PartnershipRow = Selectable<PartnershipRatesTable>;

/** Notes that these rates apply from `atMs` on. The caller holds the lock of the programme. */
export async function noteProgrammeRates(
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
		.values({ programme_id, from_ms: beginOf(newest, atMs), ...row })
		.onConflict((conflict) => conflict.columns(["programme_id", "from_ms"]).doUpdateSet(row))
		.execute();
}

/** Notes that this commission applies from `atMs` on. The caller holds the lock of the partnership. */
export async function notePartnershipRates(
	trx: Db,
	partnership_id: number,
	{ commission_rate, event_rates }: Pick<PartnershipRow, "commission_rate" | "event_rates">,
	atMs: number,
): Promise<void> {
	const newest = await trx
		.selectFrom("partnership_rates")
		.select("from_ms")
		.where("partnership_id", "=", partnership_id)
		.orderBy("from_ms", "desc")
		.limit(1)
		.executeTakeFirst();
	const row = { commission_rate, event_rates };
	await trx
		.insertInto("partnership_rates")
		.values({ partnership_id, from_ms: beginOf(newest, atMs), ...row })
		.onConflict((conflict) => conflict.columns(["partnership_id", "from_ms"]).doUpdateSet(row))
		.execute();
}

/**
 * Returns the time from which new rates apply. Rates that lasted no time at all are replaced. If the clock was set back,
 * the new rates still come after those before them.
 */
function beginOf(newest: { from_ms: number } | undefined, atMs: number): number {
	if (newest === undefined || newest.from_ms <= atMs) return atMs;
	return newest.from_ms + 1;
}
