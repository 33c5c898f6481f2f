// Reads the commissions of partnerships and the rates of their programmes over time.

import type { PartnershipRates } from "#core/domain/rate.ts";
import type { RateHistory, RatesOnRecord } from "#core/domain/rate-history.ts";
import { NO_ID } from "#core/store/no-id.ts";
import { readProgrammeHistories } from "#core/store/queries/programme-rates.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import { commissionsOf } from "./credits.ts";
import type { Partnership } from "./tables.ts";

type Named = Pick<Programme, "id" | "currency">;

/** Returns the commission of a partnership over time. */
export async function readPartnershipHistory(
	db: Db,
	partnershipId: number,
	currency: string,
): Promise<RateHistory<PartnershipRates>> {
	const rows = await listPartnershipRates(db, [partnershipId]);
	return rows.map((row) => ({ fromMs: row.from_ms, rates: commissionsOf(row, currency) }));
}

/** A programme with one of its partnerships, or with nobody. */
export interface WantedRates {
	programme: Named;
	partnership: Pick<Partnership, "id" | "created_at_ms"> | null;
}

/**
 * Reads the rates over time of each wanted programme and partnership, in the order of `wanted`. One statement
 * reads the programmes, and another one the partnerships.
 */
export async function readRatesOnRecord(db: Db, wanted: readonly WantedRates[]): Promise<RatesOnRecord[]> {
	if (wanted.length === 0) return [];
	const programmes = await readProgrammeHistories(
		db,
		wanted.map(({ programme }) => programme),
	);
	const rows = await listPartnershipRates(
		db,
		wanted.flatMap(({ partnership }) => partnership?.id ?? []),
	);
	const rowsOf = Map.groupBy(rows, ({ partnership_id }) => partnership_id);
	return wanted.map(({ programme: { id, currency }, partnership }) => ({
		programme: programmes.get(id) ?? [],
		partnership: partnership && {
			createdAtMs: partnership.created_at_ms,
			history: (rowsOf.get(partnership.id) ?? []).map((row) => ({
				fromMs: row.from_ms,
				rates: commissionsOf(row, currency),
			})),
		},
	}));
}

function listPartnershipRates(db: Db, partnershipIds: readonly number[]) {
	return db
		.selectFrom("partnership_rates")
		.selectAll()
		.where("partnership_id", "in", [NO_ID, ...partnershipIds])
		.orderBy("partnership_id")
		.orderBy("from_ms")
		.execute();
}
