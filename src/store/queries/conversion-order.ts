// What a list of conversions can be sorted by besides their ids: the time of the sale, and the basket. Within one
// programme, each along its own index.

import { type RawBuilder, sql } from "kysely";
import type { Cursor } from "../../domain/cursor.ts";
import type { Db } from "../store.ts";
import { BASKET_MINOR } from "../tables/conversions.ts";
import type { Direction } from "./conversion-buckets.ts";
import type { ConversionFilter, MatchedConversion } from "./conversion-filter.ts";

export type SortKey = "sale" | "basket";

const KEYS: Readonly<Record<SortKey, RawBuilder<unknown>>> = {
	sale: sql.raw("occurred_at_ms"),
	basket: sql.raw(BASKET_MINOR),
};

/** The position of a row in the list that is sorted so. */
export function positionIn(by: SortKey, row: MatchedConversion): Cursor {
	return { at: by === "sale" ? row.occurred_at_ms : Number(row.basket_value.replace(".", "")), id: row.id };
}

interface SortedRead {
	programmeId: number;
	by: SortKey;
	direction: Direction;
	/** Behind this one; left out at the beginning. */
	after: Cursor | undefined;
	limit: number;
}

/**
 * The ids of the next rows, as a stretch of the index, said twice: see `readBucket` in conversion-buckets.
 */
export async function readSortedIds(
	db: Db,
	filter: ConversionFilter,
	{ programmeId, by, direction, after, limit }: SortedRead,
): Promise<number[]> {
	const key = KEYS[by];
	const way = sql.raw(direction);
	const { low, high } = boundsOf(filter, by);
	const isDown = direction === "desc";
	// Both ends are left out.
	const first = isDown ? low : (after ?? low);
	const end = isDown ? (after ?? high) : high;
	const row = ({ at, id }: Cursor) => sql`(${programmeId}, ${at}, ${id})`;
	const found = await sql<{ id: number }>`select id from conversions
		where (programme_id, ${key}, id) > ${row(first)} and (programme_id, ${key}, id) < ${row(end)}
			and programme_id is not distinct from ${programmeId} and ${key} >= ${first.at} and ${key} <= ${end.at}
		order by programme_id ${way}, ${key} ${way}, id ${way} limit ${limit}`.execute(db);
	return found.rows.map(({ id }) => id);
}

/** A time of sale is later than 1970, and the id of a conversion above 0. */
function boundsOf(
	{ soldFromMs = 0, soldBeforeMs = Number.MAX_SAFE_INTEGER }: ConversionFilter,
	by: SortKey,
): { low: Cursor; high: Cursor } {
	if (by === "basket") return { low: { at: 0, id: 0 }, high: { at: MOST_MINOR, id: 0 } };
	return { low: { at: soldFromMs, id: 0 }, high: { at: soldBeforeMs, id: 0 } };
}

/** More than any basket: see domain/money. */
const MOST_MINOR = 10 ** 17;
