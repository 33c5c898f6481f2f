// The one list of conversions: for the API, the pages, Review and the export. The newest first, or by how the order
// id starts.

import { sql } from "kysely";
import type { Cursor } from "../domain/cursor.ts";
import { isAtLeast } from "../domain/money.ts";
import {
	type BucketFilter,
	bucketsOf,
	findIdRange,
	readNewestIds,
	type TimeFilter,
} from "./conversion-buckets.ts";
import type { Conversion } from "./conversions.ts";
import {
	cursorById,
	endId,
	type ListPage,
	type ListWalk,
	type PageRequest,
	readListPage,
} from "./list-page.ts";
import type { Db } from "./store.ts";

/** Everything may be left out. */
export interface ConversionFilter extends BucketFilter, TimeFilter {
	/** The whole order id: of one programme there are as many as event types, at most. */
	orderId?: string | undefined;
	/** How the order id starts. Listed by order id, the exact one first. */
	orderStart?: string | undefined;
	/** A decimal, in whatever currency a programme has. */
	minBasket?: string | undefined;
}

/** Sorts behind everything that can follow the start of an order id. */
const LAST_CHARACTER = "\u{10FFFF}";

export async function listConversions(
	db: Db,
	{ after, limit, ...filter }: ConversionFilter & PageRequest,
): Promise<ListPage<Conversion>> {
	return readListPage(await openWalk(db, filter, after), limit);
}

/** Every row of the list, some at a time. Rows may come, move or be removed meanwhile: none is listed twice. */
export async function* readAllConversions(
	db: Db,
	filter: ConversionFilter,
	batchRows: number,
): AsyncGenerator<readonly Conversion[]> {
	const { read, matches = () => true } = await openWalk(db, filter, undefined);
	let last: Conversion | undefined;
	do {
		const batch = await read(last, batchRows);
		yield batch.filter(matches);
		last = batch.length < batchRows ? undefined : batch.at(-1);
	} while (last !== undefined);
}

async function openWalk(
	db: Db,
	filter: ConversionFilter,
	after: Cursor | undefined,
): Promise<ListWalk<Conversion>> {
	if (filter.orderId !== undefined) return walkOrder(db, filter, filter.orderId, after);
	if (filter.orderStart !== undefined) return walkOrderStart(db, filter, filter.orderStart, after);
	const { programmeId, eventType, isTest, minBasket } = filter;
	const range = await findIdRange(db, filter);
	const buckets = bucketsOf(filter);
	return {
		async read(last, limit) {
			const rows: Conversion[] = [];
			let before = Math.min(range.endId, endId(last ?? after));
			// Between the two statements a row may be recorded anew or removed. Others take its place: a list ends where
			// there are no more ids, and not where a row was missing.
			for (let isEnd = false; !isEnd && rows.length < limit; ) {
				const wanted = limit - rows.length;
				const ids = await readNewestIds(db, buckets, { ...range, endId: before }, wanted);
				rows.push(...(await readRows(db, ids)));
				before = ids.at(-1) ?? 0;
				isEnd = ids.length < wanted;
			}
			return rows;
		},
		matches: matcherOf(programmeId === undefined ? { eventType, isTest, minBasket } : { minBasket }),
		cursorOf: cursorById,
	};
}

async function readRows(db: Db, ids: readonly number[]): Promise<Conversion[]> {
	if (ids.length === 0) return [];
	return db.selectFrom("conversions").selectAll().where("id", "in", ids).orderBy("id", "desc").execute();
}

/** The newest first. Sorted here: SQLite would walk the whole programme in order instead of finding the order. */
function walkOrder(
	db: Db,
	filter: ConversionFilter,
	orderId: string,
	after: Cursor | undefined,
): ListWalk<Conversion> {
	return {
		async read(last, limit) {
			const rows = await selectOrders(db, filter).where("order_id", "=", orderId).execute();
			const behind = rows.filter(({ id }) => id < endId(last ?? after));
			return behind.toSorted((one, other) => other.id - one.id).slice(0, limit);
		},
		matches: matcherOf(filter),
		cursorOf: cursorById,
	};
}

async function walkOrderStart(
	db: Db,
	filter: ConversionFilter,
	start: string,
	after: Cursor | undefined,
): Promise<ListWalk<Conversion>> {
	const first =
		after === undefined
			? undefined
			: await db.selectFrom("conversions").selectAll().where("id", "=", after.id).executeTakeFirst();
	// Each in the order of its own index, so that nothing has to be sorted.
	const second = filter.programmeId === undefined ? "id" : "event_type";
	return {
		read(last = first, limit) {
			let query = selectOrders(db, filter)
				.where("order_id", ">=", start)
				.where("order_id", "<", start + LAST_CHARACTER);
			if (last !== undefined) {
				query = query.where((eb) =>
					eb(eb.refTuple("order_id", second), ">", eb.tuple(last.order_id, last[second])),
				);
			}
			return query.orderBy("order_id").orderBy(second).limit(limit).execute();
		},
		matches: matcherOf(filter),
		cursorOf: cursorById,
	};
}

/**
 * Along conversions_by_order. Across programmes along conversions_by_any_order, a partial index: the query must repeat
 * its condition (`id > 0`) literally, or the index is not used.
 */
function selectOrders(db: Db, { programmeId }: ConversionFilter) {
	const query = db.selectFrom("conversions").selectAll();
	return programmeId === undefined
		? query.where(sql<boolean>`id > 0`)
		: query.where("programme_id", "=", programmeId);
}

/** Undefined when no filter is set. */
function matcherOf(
	filter: Omit<ConversionFilter, "programmeId" | "orderId" | "orderStart">,
): ((conversion: Conversion) => boolean) | undefined {
	const { status, eventType, isTest, fromMs, beforeMs, minBasket } = filter;
	const set = [status, eventType, isTest, fromMs, beforeMs, minBasket].filter((value) => value !== undefined);
	if (set.length === 0) return undefined;
	return (conversion) =>
		(status === undefined || conversion.status === status) &&
		(eventType === undefined || conversion.event_type === eventType) &&
		(isTest === undefined || (conversion.test === 1) === isTest) &&
		(fromMs === undefined || conversion.created_at_ms >= fromMs) &&
		(beforeMs === undefined || conversion.created_at_ms < beforeMs) &&
		(minBasket === undefined || isAtLeast(conversion.basket_value, minBasket));
}
