// The one list of conversions: for the API, the pages and the export. Each way to sort it has an index to walk;
// filters that the index does not know are held against the rows that are read. Where they leave nearly nothing, all
// that the narrowest of them finds is read and sorted instead.

import type { Cursor } from "../../domain/cursor.ts";
import type { Db } from "../store.ts";
import { bucketsOf, findIdRange, readIds } from "./conversion-buckets.ts";
import {
	type ConversionFilter,
	type ConversionSort,
	hasSaleRange,
	isNarrow,
	matcherOf,
	NEWEST_FIRST,
} from "./conversion-filter.ts";
import { collectMatches } from "./conversion-matches.ts";
import { positionIn, readSortedIds, type SortKey } from "./conversion-order.ts";
import { type Conversion, findManyByPublicId } from "./conversions.ts";
import {
	cursorById,
	endId,
	type ListPage,
	type ListWalk,
	type PageRequest,
	readListPage,
} from "./list-page.ts";
import { findOrders } from "./order-search.ts";

export interface ConversionListRequest extends ConversionFilter, PageRequest {
	/** The newest first unless told. */
	sort?: ConversionSort | undefined;
}

type Walk = ListWalk<Conversion>;

export async function listConversions(
	db: Db,
	{ after, limit, sort = NEWEST_FIRST, ...filter }: ConversionListRequest,
): Promise<ListPage<Conversion>> {
	let page: ListPage<Conversion> | undefined;
	for (const open of waysThrough(db, filter, sort, after)) {
		const walk = await open();
		if (walk === null) continue;
		const next = await readListPage(walk, limit);
		if (!next.isPartial) return next;
		// Both are true as far as they go.
		if (page === undefined || isFurther(next, page, sort)) page = next;
	}
	return page ?? { rows: [], next: null, isPartial: false };
}

/** Of two pages that both ended because enough was looked at. */
function isFurther(
	{ next: one }: ListPage<unknown>,
	{ next: other }: ListPage<unknown>,
	{ direction }: ConversionSort,
): boolean {
	if (one === null || other === null) return false;
	const ahead = one.at - other.at || one.id - other.id;
	return direction === "desc" ? ahead < 0 : ahead > 0;
}

/** Every row of the list, some at a time. Rows may come, move or be removed meanwhile: none is listed twice. */
export async function* readAllConversions(
	db: Db,
	filter: ConversionFilter,
	batchRows: number,
	sort: ConversionSort = NEWEST_FIRST,
): AsyncGenerator<readonly Conversion[]> {
	const [open] = waysThrough(db, filter, sort, undefined);
	const walk = await open();
	const { read, matches = () => true } = walk;
	let last: Conversion | undefined;
	do {
		const batch = await read(last, batchRows);
		yield batch.filter(matches);
		last = batch.length < batchRows ? undefined : batch.at(-1);
	} while (last !== undefined);
}

/** The first one always leads to the end; the others are tried where it finds too little on the way. */
function waysThrough(
	db: Db,
	filter: ConversionFilter,
	sort: ConversionSort,
	after: Cursor | undefined,
): [() => Promise<Walk>, ...(() => Promise<Walk | null>)[]] {
	const { orderId, search, programmeId } = filter;
	if (orderId !== undefined && programmeId !== undefined) {
		return [async () => walkOrder(db, filter, { programmeId, orderId }, after)];
	}
	if (search?.kind === "conversion") return [async () => walkOne(db, filter, search.publicId, after)];
	const natural = async () =>
		sort.by === "recorded" || programmeId === undefined
			? walkBuckets(db, filter, sort, after)
			: walkSorted(db, filter, { ...sort, by: sort.by, programmeId }, after);
	const isNewestFirst = sort.by === "recorded" && sort.direction === "desc";
	if (search !== undefined && isNewestFirst) {
		const found = async () => walkFound(db, filter, search.term, after);
		return isNarrow(filter) ? [found, natural] : [found];
	}
	const isSparse =
		search !== undefined || hasSaleRange(filter) || (sort.by !== "recorded" && isNarrow(filter));
	return isSparse ? [natural, () => walkCollected(db, filter, sort, after)] : [natural];
}

async function walkBuckets(
	db: Db,
	filter: ConversionFilter,
	{ direction }: ConversionSort,
	after: Cursor | undefined,
): Promise<Walk> {
	const range = await findIdRange(db, filter);
	const buckets = bucketsOf(filter);
	const isDown = direction === "desc";
	return {
		async read(last, limit) {
			const rows: Conversion[] = [];
			const behind = last ?? after;
			let end = isDown
				? Math.min(range.endId, endId(behind))
				: Math.max(range.firstId, (behind?.id ?? 0) + 1);
			// Between the two statements a row may be recorded anew or removed. Others take its place: a list ends where
			// there are no more ids, and not where a row was missing.
			for (let isEnd = false; !isEnd && rows.length < limit; ) {
				const wanted = limit - rows.length;
				const rest = isDown ? { ...range, endId: end } : { ...range, firstId: end };
				const ids = await readIds(db, buckets, rest, { direction, limit: wanted });
				rows.push(...(await readRows(db, ids)));
				end = (ids.at(-1) ?? 0) + (isDown ? 0 : 1);
				isEnd = ids.length < wanted;
			}
			return rows;
		},
		matches: matcherOf(filter, [
			"status",
			"fromMs",
			"beforeMs",
			// Across all programmes no index knows these two.
			...(filter.programmeId === undefined ? [] : (["eventType", "isTest"] as const)),
		]),
		cursorOf: cursorById,
	};
}

async function walkSorted(
	db: Db,
	filter: ConversionFilter,
	sort: { programmeId: number; by: SortKey; direction: ConversionSort["direction"] },
	after: Cursor | undefined,
): Promise<Walk> {
	const cursorOf = (row: Conversion) => positionIn(sort.by, row);
	return {
		async read(last, limit) {
			const rows: Conversion[] = [];
			let behind = last === undefined ? after : cursorOf(last);
			for (let isEnd = false; !isEnd && rows.length < limit; ) {
				const wanted = limit - rows.length;
				const ids = await readSortedIds(db, filter, { ...sort, after: behind, limit: wanted });
				const found = await readRows(db, ids);
				rows.push(...found);
				const lastFound = found.at(-1);
				isEnd = ids.length < wanted || lastFound === undefined;
				if (lastFound !== undefined) behind = cursorOf(lastFound);
			}
			return rows;
		},
		matches: matcherOf(filter, sort.by === "sale" ? ["soldFromMs", "soldBeforeMs"] : []),
		cursorOf,
	};
}

/** Of those whose order id has the term in it, the newest first. */
async function walkFound(
	db: Db,
	filter: ConversionFilter,
	term: string,
	after: Cursor | undefined,
): Promise<Walk> {
	const { programmeId } = filter;
	const found = findOrders(db, { programmeId, term, beforeId: endId(after) });
	let waiting: number[] = [];
	let isEnd = false;
	return {
		// One page or one export reads it from its beginning to its end, so it goes on where it was.
		async read(_, limit) {
			const rows: Conversion[] = [];
			while (rows.length < limit && !(isEnd && waiting.length === 0)) {
				while (!isEnd && waiting.length < limit - rows.length) {
					const next = await found.next();
					if (next.done === true) isEnd = true;
					else waiting = [...waiting, ...next.value];
				}
				const wanted = limit - rows.length;
				rows.push(...(await readRows(db, waiting.slice(0, wanted))));
				waiting = waiting.slice(wanted);
			}
			return rows;
		},
		matches: matcherOf(filter, ["search"]),
		cursorOf: cursorById,
	};
}

/** Null when there are too many to sort here. */
async function walkCollected(
	db: Db,
	filter: ConversionFilter,
	sort: ConversionSort,
	after: Cursor | undefined,
): Promise<Walk | null> {
	const { rows: matches, isAll } = await collectMatches(db, filter);
	if (!isAll) return null;
	const { by } = sort;
	const cursorOf = by === "recorded" ? cursorById : (row: (typeof matches)[number]) => positionIn(by, row);
	const sign = sort.direction === "desc" ? -1 : 1;
	const compare = (one: Cursor, other: Cursor) => sign * (one.at - other.at || one.id - other.id);
	const sorted = matches
		.map((row) => cursorOf(row))
		.filter((position) => after === undefined || compare(position, after) > 0)
		.toSorted(compare);
	let taken = 0;
	return {
		async read(_, limit) {
			const ids = sorted.slice(taken, taken + limit).map(({ id }) => id);
			taken += limit;
			return readRows(db, ids);
		},
		cursorOf,
	};
}

/** In the order of the ids that are given. */
async function readRows(db: Db, ids: readonly number[]): Promise<Conversion[]> {
	if (ids.length === 0) return [];
	const rows = await db.selectFrom("conversions").selectAll().where("id", "in", ids).execute();
	const byId = new Map(rows.map((row) => [row.id, row]));
	return ids.flatMap((id) => byId.get(id) ?? []);
}

/** The newest first. Sorted here: SQLite would walk the whole programme in order instead of finding the order. */
function walkOrder(
	db: Db,
	filter: ConversionFilter,
	{ programmeId, orderId }: { programmeId: number; orderId: string },
	after: Cursor | undefined,
): Walk {
	return {
		async read(last, limit) {
			const rows = await db
				.selectFrom("conversions")
				.selectAll()
				.where("programme_id", "=", programmeId)
				.where("order_id", "=", orderId)
				.execute();
			const behind = rows.filter(({ id }) => id < endId(last ?? after));
			return behind.toSorted((one, other) => other.id - one.id).slice(0, limit);
		},
		matches: matcherOf(filter),
		cursorOf: cursorById,
	};
}

function walkOne(db: Db, filter: ConversionFilter, publicId: string, after: Cursor | undefined): Walk {
	const { programmeId } = filter;
	return {
		async read(last) {
			if ((last ?? after) !== undefined) return [];
			const rows = await findManyByPublicId(db, [publicId]);
			return rows.filter((row) => programmeId === undefined || row.programme_id === programmeId);
		},
		matches: matcherOf(filter),
		cursorOf: cursorById,
	};
}
