import { zeroIn } from "../../domain/money.ts";
import type { ProgrammeRates } from "../../domain/rate.ts";
import type { RateHistory } from "../../domain/rate-history.ts";
import { NO_ID } from "../no-id.ts";
import type { Db } from "../store.ts";
import { type Programme, readProgrammeRates } from "./programmes.ts";

type Named = Pick<Programme, "id" | "currency">;

export async function readProgrammeHistory(db: Db, programme: Named): Promise<RateHistory<ProgrammeRates>> {
	return (await readProgrammeHistories(db, [programme])).get(programme.id) ?? [];
}

export async function readProgrammeHistories(
	db: Db,
	programmes: readonly Named[],
): Promise<ReadonlyMap<number, RateHistory<ProgrammeRates>>> {
	const currencies = new Map(programmes.map(({ id, currency }) => [id, currency]));
	const rows = await db
		.selectFrom("programme_rates")
		.selectAll()
		.where("programme_id", "in", [NO_ID, ...currencies.keys()])
		.orderBy("programme_id")
		.orderBy("from_ms")
		.execute();
	const rowsOf = Map.groupBy(rows, ({ programme_id }) => programme_id);
	return new Map(
		[...currencies].map(([id, currency]) => {
			const zero = zeroIn(currency);
			const history = (rowsOf.get(id) ?? []).map((row) => ({
				fromMs: row.from_ms,
				rates: readProgrammeRates(row, zero),
			}));
			return [id, history] as const;
		}),
	);
}
