// Everything that a filter finds, as long as it is not too much: for sums, and for sorting what no index sorts.

import type { Cursor } from "../../domain/cursor.ts";
import type { Db } from "../store.ts";
import { bucketsOf, findIdRange, readIds } from "./conversion-buckets.ts";
import {
	type ConversionFilter,
	hasSaleRange,
	MATCHED_COLUMNS,
	type MatchedConversion,
	matcherOf,
} from "./conversion-filter.ts";
import { positionIn, readSortedIds } from "./conversion-order.ts";
import { findOrders } from "./order-search.ts";

/** Some twenty milliseconds. */
export const MAX_COLLECTED = 5_000;
const SLICE_ROWS = 1_000;

export interface CollectedConversions {
	rows: readonly MatchedConversion[];
	/** False when there were more to look at than `MAX_COLLECTED`: there may be more that match. */
	isAll: boolean;
}

/** `pause` lets everybody else get on between two slices. */
export async function collectMatches(
	db: Db,
	filter: ConversionFilter,
	pause: () => Promise<void> = async () => undefined,
): Promise<CollectedConversions> {
	const matches = matcherOf(filter);
	const rows: MatchedConversion[] = [];
	let looked = 0;
	for await (const ids of readCandidates(db, filter)) {
		looked += ids.length;
		if (looked > MAX_COLLECTED) return { rows, isAll: false };
		for (let start = 0; start < ids.length; start += SLICE_ROWS) {
			const slice = await readSlice(db, ids.slice(start, start + SLICE_ROWS));
			rows.push(...(matches === undefined ? slice : slice.filter(matches)));
			await pause();
		}
	}
	return { rows, isAll: true };
}

async function readSlice(db: Db, ids: readonly number[]): Promise<MatchedConversion[]> {
	return db.selectFrom("conversions").select(MATCHED_COLUMNS).where("id", "in", ids).execute();
}

/** By what is most likely to leave little: a search, then the days of the sale, then the buckets. */
function readCandidates(db: Db, filter: ConversionFilter): AsyncGenerator<readonly number[]> {
	const { search, programmeId } = filter;
	if (search?.kind === "orders") {
		return findOrders(db, { programmeId, term: search.term, beforeId: Number.MAX_SAFE_INTEGER });
	}
	return hasSaleRange(filter) && programmeId !== undefined
		? readSoldBetween(db, filter, programmeId)
		: readRecorded(db, filter);
}

async function* readSoldBetween(
	db: Db,
	filter: ConversionFilter,
	programmeId: number,
): AsyncGenerator<readonly number[]> {
	const read = { programmeId, by: "sale", direction: "desc", limit: SLICE_ROWS } as const;
	for (let after: Cursor | undefined; ; ) {
		const ids = await readSortedIds(db, filter, { ...read, after });
		yield ids;
		const lastId = ids.at(-1);
		if (lastId === undefined || ids.length < SLICE_ROWS) return;
		const [last] = await readSlice(db, [lastId]);
		if (last === undefined) return;
		after = positionIn("sale", last);
	}
}

async function* readRecorded(db: Db, filter: ConversionFilter): AsyncGenerator<readonly number[]> {
	const range = await findIdRange(db, filter);
	const buckets = bucketsOf(filter);
	for (let end = range.endId; ; ) {
		const rest = { ...range, endId: end };
		const ids = await readIds(db, buckets, rest, { direction: "desc", limit: SLICE_ROWS });
		yield ids;
		const lastId = ids.at(-1);
		if (lastId === undefined || ids.length < SLICE_ROWS) return;
		end = lastId;
	}
}
