// Conversions of all programmes for the review team, the newest first.

import { sql } from "kysely";
import type { Status } from "../domain/conversion.ts";
import { listIds, mergeBuckets, rangeOf } from "./conversion-list.ts";
import type { Conversion } from "./conversions.ts";
import { findProgrammesById } from "./programmes.ts";
import type { Db } from "./store.ts";

export interface ReviewFilter {
	programmeId?: number | undefined;
	status?: Status | undefined;
	/** A decimal, in whatever currency a programme has. */
	minBasket?: string | undefined;
	fromMs?: number | undefined;
	beforeMs?: number | undefined;
	beforeId?: number | undefined;
	limit: number;
}

export interface ReviewRow extends Conversion {
	programme_public_id: string;
	programme_name: string;
}

export interface ReviewPage {
	rows: readonly ReviewRow[];
	/** Where the next page goes on; null at the end. */
	nextBeforeId: number | null;
	/** True when the page ends because enough was looked at, not because it is full. */
	isPartial: boolean;
}

/**
 * No index knows amounts, so that a page looks at this many conversions at most and says so. Measured: a few
 * milliseconds on both databases.
 */
const MAX_LOOKED_AT = 2_000;

export async function listForReview(db: Db, filter: ReviewFilter): Promise<ReviewPage> {
	const wanted = filter.limit + 1;
	const ids = await readIds(db, filter, filter.minBasket === undefined ? wanted : MAX_LOOKED_AT);
	const rows = await readRows(db, ids, filter.minBasket, wanted);
	const shown = rows.slice(0, filter.limit);
	if (rows.length > shown.length)
		return { rows: shown, nextBeforeId: shown.at(-1)?.id ?? null, isPartial: false };
	const hasMore = filter.minBasket !== undefined && ids.length === MAX_LOOKED_AT;
	return { rows: shown, nextBeforeId: hasMore ? (ids.at(-1) ?? null) : null, isPartial: hasMore };
}

async function readIds(db: Db, filter: ReviewFilter, limit: number): Promise<number[]> {
	const { programmeId, status, beforeId } = filter;
	if (programmeId !== undefined) return listIds(db, { programmeId, beforeId, limit }, filter);
	const range = await rangeOf(db, filter, beforeId);
	return mergeBuckets(db, [status === undefined ? {} : { status }], range, limit);
}

async function readRows(
	db: Db,
	ids: readonly number[],
	minBasket: string | undefined,
	limit: number,
): Promise<ReviewRow[]> {
	if (ids.length === 0) return [];
	let query = db.selectFrom("conversions").selectAll().where("id", "in", ids);
	if (minBasket !== undefined) {
		query = query.where(sql<boolean>`cast(basket_value as numeric) >= cast(${minBasket} as numeric)`);
	}
	const rows = await query.orderBy("id", "desc").limit(limit).execute();
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
