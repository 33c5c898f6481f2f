// Conversions of all programmes for the review team: the newest first, or by order id.

import { sql } from "kysely";
import type { Status } from "../domain/conversion.ts";
import { listIds, mergeBuckets, rangeOf } from "./conversion-list.ts";
import { searchByOrder } from "./conversion-search.ts";
import type { Conversion } from "./conversions.ts";
import { findProgrammesById } from "./programmes.ts";
import type { Db } from "./store.ts";

export interface ReviewFilter {
	programmeId?: number | undefined;
	/** How the order id starts. */
	orderId?: string | undefined;
	status?: Status | undefined;
	/** A decimal, in whatever currency a programme has. */
	minBasket?: string | undefined;
	fromMs?: number | undefined;
	beforeMs?: number | undefined;
	/** The id of the last row that was looked at. */
	afterId?: number | undefined;
	limit: number;
}

export interface ReviewRow extends Conversion {
	programme_public_id: string;
	programme_name: string;
}

export interface ReviewPage {
	rows: readonly ReviewRow[];
	/** Where the next page goes on; null at the end. */
	nextAfterId: number | null;
	/** True when the page ends because enough was looked at, not because it is full. */
	isPartial: boolean;
}

/**
 * No index knows amounts, so that a page looks at this many conversions at most and says so. Measured: a few
 * milliseconds on both databases.
 */
const MAX_LOOKED_AT = 2_000;

export async function listForReview(db: Db, filter: ReviewFilter): Promise<ReviewPage> {
	const { limit, minBasket } = filter;
	const { ids, lastId } = await readIds(db, filter, minBasket === undefined ? limit + 1 : MAX_LOOKED_AT);
	const rows = await readRows(db, ids, filter);
	const shown = rows.slice(0, limit);
	if (rows.length > shown.length)
		return { rows: shown, nextAfterId: shown.at(-1)?.id ?? null, isPartial: false };
	return { rows: shown, nextAfterId: lastId, isPartial: lastId !== null };
}

interface FoundIds {
	/** In the order of the list. */
	ids: readonly number[];
	/** The last one looked at, where there may be more behind it. */
	lastId: number | null;
}

async function readIds(db: Db, filter: ReviewFilter, limit: number): Promise<FoundIds> {
	const { programmeId, status, orderId, afterId } = filter;
	if (orderId !== undefined) return searchIds(db, filter, orderId, limit);
	const place = { beforeId: afterId, limit };
	const ids =
		programmeId !== undefined
			? await listIds(db, { ...place, programmeId }, filter)
			: await mergeBuckets(
					db,
					[status === undefined ? {} : { status }],
					await rangeOf(db, filter, place),
					limit,
				);
	const isCut = filter.minBasket !== undefined && ids.length === limit;
	return { ids, lastId: isCut ? (ids.at(-1) ?? null) : null };
}

async function searchIds(db: Db, filter: ReviewFilter, prefix: string, limit: number): Promise<FoundIds> {
	const { programmeId, afterId, status, fromMs, beforeMs } = filter;
	const after =
		afterId === undefined
			? undefined
			: await db.selectFrom("conversions").selectAll().where("id", "=", afterId).executeTakeFirst();
	const search = { programmeId, prefix, after, limit };
	const found = await searchByOrder(db, search, { status, fromMs, beforeMs });
	return { ids: found.rows.map(({ id }) => id), lastId: found.last?.id ?? null };
}

/** In the order of the ids given. */
async function readRows(
	db: Db,
	ids: readonly number[],
	{ minBasket, orderId, limit }: ReviewFilter,
): Promise<ReviewRow[]> {
	if (ids.length === 0) return [];
	let query = db.selectFrom("conversions").selectAll().where("id", "in", ids);
	if (minBasket !== undefined) {
		query = query.where(sql<boolean>`cast(basket_value as numeric) >= cast(${minBasket} as numeric)`);
	}
	if (orderId === undefined) query = query.orderBy("id", "desc").limit(limit + 1);
	const places = new Map(ids.map((id, place) => [id, place]));
	const rows = (await query.execute())
		.toSorted((one, other) => (places.get(one.id) ?? 0) - (places.get(other.id) ?? 0))
		.slice(0, limit + 1);
	const programmes = await findProgrammesById(db, [...new Set(rows.map((row) => row.programme_id))]);
	return rows.map((row) => {
		const programme = programmes.get(row.programme_id);
		return {
			...row,
			programme_public_id: programme?.public_id ?? "",
			programme_name: programme?.name ?? "",
		};
	});
}
