// The one list of conversions: for the API, the pages, the export and what a filter comes to. Each way to sort it has an
// index to walk; filters that the index does not know are held against the rows that are read. Where a page ends so with
// too few, the index of order ids is asked, or all that the narrowest filter finds is read and sorted.

import { type RawBuilder, sql } from "kysely";
import type { Cursor } from "../../domain/cursor.ts";
import { hasOrder, type OrderSearch, patternOf, rarestOf, trigramsOf } from "../../domain/order-id.ts";
import type { Db } from "../store.ts";
import {
	type BucketFilter,
	bucketsOf,
	type ConversionSort,
	findStretch,
	firstOf,
	MOST_MINOR,
	positionsIn,
	type Stretch,
	type TimeFilter,
} from "./conversion-buckets.ts";
import { type Conversion, findManyByPublicId } from "./conversions.ts";
import { findCredits } from "./credits.ts";
import { endId, type ListPage, type ListWalk, type PageRequest, readListPage, walkAll } from "./list-page.ts";

export type { ConversionSort } from "./conversion-buckets.ts";

/** Everything may be left out. */
export interface ConversionFilter extends BucketFilter, TimeFilter {
	/** The whole order id: of one programme there are as many as event types, at most. */
	orderId?: string | undefined;
	/** What somebody typed to find an order. */
	search?: OrderSearch | undefined;
	/** Sold at this moment or later, and before that one. Within a programme only. */
	soldFromMs?: number | undefined;
	soldBeforeMs?: number | undefined;
	/** Credited to one of these. Such a list is in the order of the sales. */
	partnershipIds?: readonly number[] | undefined;
}

export interface ConversionListRequest extends ConversionFilter, PageRequest {
	/** The newest first unless told. */
	sort?: ConversionSort | undefined;
}

export const NEWEST_FIRST: ConversionSort = { by: "recorded", direction: "desc" };

interface Walk extends ListWalk<Conversion> {
	/** How many rows there are to look at, counted up to the limit. */
	count(limit: number): Promise<number>;
}

export async function listConversions(
	db: Db,
	{ after, limit, sort = NEWEST_FIRST, ...filter }: ConversionListRequest,
): Promise<ListPage<Conversion>> {
	const request = { after, limit };
	const few = await findFew(db, filter);
	if (few !== null) return readListPage(walkRows(few, filter, sort), request);
	const page = await readListPage(await walkIndex(db, filter, sort), request);
	if (!page.isPartial || filter.partnershipIds !== undefined) return page;
	const other = await openOtherWalk(db, filter, sort);
	if (other === null) return page;
	const next = await readListPage(other, request);
	// Both are true as far as they go.
	return !next.isPartial || isFurther(next, page, sort) ? next : page;
}

/** Of two pages that both ended because enough was looked at. */
function isFurther(
	{ next: one }: ListPage<unknown>,
	{ next: other }: ListPage<unknown>,
	sort: ConversionSort,
): boolean {
	return one !== null && other !== null && compare(one, other, sort) > 0;
}

/** Every row of the list, some at a time. Rows may come, move or be removed meanwhile: none is listed twice. */
export async function* readAllConversions(
	db: Db,
	filter: ConversionFilter,
	batchRows: number,
	sort: ConversionSort = NEWEST_FIRST,
): AsyncGenerator<readonly Conversion[]> {
	for await (const { rows } of walkAll(await openWalk(db, filter, sort), batchRows)) yield rows;
}

/** Some twenty milliseconds. */
export const MAX_COLLECTED = 5_000;
const SLICE_ROWS = 1_000;

export interface CollectedConversions {
	/** Null when there are more to look at than `MAX_COLLECTED`. */
	rows: Conversion[] | null;
	/** How many match, at least. */
	count: number;
}

/** All that a filter finds, as long as it is not too much. */
export async function collectMatches(db: Db, filter: ConversionFilter): Promise<CollectedConversions> {
	const isSold =
		filter.programmeId !== undefined &&
		filter.partnershipIds === undefined &&
		hasSaleRange(filter) &&
		indexedTerm(filter) === null;
	const walk = await openWalk(db, filter, isSold ? { by: "sale", direction: "desc" } : NEWEST_FIRST);
	if ((await walk.count(MAX_COLLECTED + 1)) > MAX_COLLECTED) {
		return { rows: null, count: walk.matches === undefined ? MAX_COLLECTED : 0 };
	}
	const rows: Conversion[] = [];
	for await (const batch of walkAll(walk, SLICE_ROWS)) rows.push(...batch.rows);
	return { rows, count: rows.length };
}

/** The one that leads to the end of the list along the fewest rows. */
async function openWalk(db: Db, filter: ConversionFilter, sort: ConversionSort): Promise<Walk> {
	const few = await findFew(db, filter);
	if (few !== null) return walkRows(few, filter, sort);
	const walk = await walkIndex(db, filter, sort);
	const term = filter.partnershipIds === undefined ? indexedTerm(filter) : null;
	if (term === null || !isNewestFirst(sort)) return walk;
	return (await walk.count(MAX_COLLECTED + 1)) > MAX_COLLECTED ? walkFound(db, filter, term) : walk;
}

/** For a list of which the index's own order showed too little; null where nothing else leads further. */
async function openOtherWalk(db: Db, filter: ConversionFilter, sort: ConversionSort): Promise<Walk | null> {
	const term = indexedTerm(filter);
	if (term !== null && isNewestFirst(sort)) return walkFound(db, filter, term);
	const { rows } = await collectMatches(db, filter);
	return rows === null ? null : walkRows(rows, filter, sort);
}

function isNewestFirst({ by, direction }: ConversionSort): boolean {
	return by === "recorded" && direction === "desc";
}

/** What somebody typed, where the index of order ids knows a part of it. */
function indexedTerm({ search }: ConversionFilter): string | null {
	return search?.kind === "orders" && trigramsOf(search.term).length > 0 ? search.term : null;
}

/** The rows of one order or of one conversion; null where the filter names neither. */
async function findFew(db: Db, filter: ConversionFilter): Promise<Conversion[] | null> {
	const few = await findOne(db, filter);
	const { partnershipIds } = filter;
	if (few === null || partnershipIds === undefined) return few;
	const credits = await findCredits(
		db,
		few.map(({ id }) => id),
	);
	return few.filter(({ id }) => partnershipIds.includes(credits.get(id)?.partnership_id ?? 0));
}

async function findOne(
	db: Db,
	{ orderId, search, programmeId }: ConversionFilter,
): Promise<Conversion[] | null> {
	if (search?.kind === "conversion") return findManyByPublicId(db, [search.publicId]);
	if (orderId === undefined || programmeId === undefined) return null;
	return db
		.selectFrom("conversions")
		.selectAll()
		.where("programme_id", "=", programmeId)
		.where("order_id", "=", orderId)
		.execute();
}

async function walkIndex(db: Db, filter: ConversionFilter, sort: ConversionSort): Promise<Walk> {
	if (filter.partnershipIds !== undefined) return walkCredited(db, filter, filter.partnershipIds, sort);
	const { programmeId, soldFromMs = 0, soldBeforeMs = Number.MAX_SAFE_INTEGER } = filter;
	// Times of sale are later than 1970, and ids above 0.
	const stretches: Record<ConversionSort["by"], () => Promise<Stretch>> = {
		recorded: () => findStretch(db, filter),
		sale: async () => ({ low: { at: soldFromMs, id: 0 }, high: { at: soldBeforeMs, id: 0 } }),
		basket: async () => ({ low: { at: 0, id: 0 }, high: { at: MOST_MINOR, id: 0 } }),
	};
	const by = programmeId === undefined ? "recorded" : sort.by;
	const stretch: Stretch = await stretches[by]();
	const buckets = bucketsOf(by === "recorded" ? filter : { programmeId });
	const known: Record<ConversionSort["by"], readonly (keyof ConversionFilter)[]> = {
		// Across all programmes no index knows the event type and whether it is a test.
		recorded: ["status", "fromMs", "beforeMs", ...(programmeId === undefined ? [] : OF_A_PROGRAMME)],
		sale: ["programmeId", "soldFromMs", "soldBeforeMs"],
		basket: ["programmeId"],
	};
	return walkPositions(
		db,
		{ by, direction: sort.direction },
		(after, limit) => {
			const rest =
				sort.direction === "desc" ? { high: after ?? stretch.high } : { low: after ?? stretch.low };
			return positionsIn(buckets, { ...stretch, ...rest }, { by, direction: sort.direction, limit });
		},
		matcherOf(filter, known[by]),
	);
}

/** SQLite takes five hundred parts of a union at most. */
const PARTS_AT_ONCE = 100;

/** Along what is credited to them, in the order of the sales: a stretch of credits_by_sale for each. */
function walkCredited(
	db: Db,
	filter: ConversionFilter,
	partnershipIds: readonly number[],
	{ direction }: ConversionSort,
): Walk {
	const { soldFromMs = 0, soldBeforeMs = Number.MAX_SAFE_INTEGER } = filter;
	const way = sql.raw(direction);
	// Said twice, as for other stretches: see conversion-buckets.
	const creditsOf = (of: number, low: Cursor, high: Cursor, limit: number) => sql`
		select id, at from (select conversion_id as id, sold_at_ms as at from credits where partnership_id = ${of}
			and sold_at_ms >= ${low.at} and sold_at_ms <= ${high.at}
			and (sold_at_ms, conversion_id) > (${low.at}, ${low.id})
			and (sold_at_ms, conversion_id) < (${high.at}, ${high.id})
			order by partnership_id ${way}, sold_at_ms ${way}, conversion_id ${way} limit ${limit}) as ${sql.id(`of_${of}`)}`;
	return walkPositions(
		db,
		{ by: "sale", direction },
		(after, limit) => {
			const low = direction === "asc" && after !== undefined ? after : { at: soldFromMs, id: 0 };
			const high = direction === "desc" && after !== undefined ? after : { at: soldBeforeMs, id: 0 };
			// Nobody has the number 0.
			const parts = [0, ...partnershipIds].map((of) => creditsOf(of, low, high, limit));
			const groups = Map.groupBy(parts.entries(), ([at]) => Math.floor(at / PARTS_AT_ONCE));
			const united = [...groups].map(([at, own]) => {
				const group = sql.join(
					own.map(([, part]) => part),
					sql` union all `,
				);
				return sql`select id, at from (${group}) as ${sql.id(`group_${at}`)}`;
			});
			return sql<Cursor>`${sql.join(united, sql` union all `)}`;
		},
		matcherOf(filter, ["soldFromMs", "soldBeforeMs"]),
	);
}

const EVERYWHERE: Stretch = {
	low: { at: 0, id: 0 },
	high: { at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER },
};
const OF_A_PROGRAMME = ["programmeId", "eventType", "isTest"] as const;

/** How many ids tell which trigrams are in most of them. */
const SAMPLE_ROWS = 200;

/** Those that have the term in their order id, the newest first. */
async function walkFound(db: Db, filter: ConversionFilter, term: string): Promise<Walk> {
	const { programmeId } = filter;
	const newest = positionsIn(bucketsOf({ programmeId }), EVERYWHERE, { ...NEWEST_FIRST, limit: SAMPLE_ROWS });
	const sample = await readRows(db, (await firstOf(newest, NEWEST_FIRST, SAMPLE_ROWS).execute(db)).rows);
	const orderIds = sample.map((row) => row.order_id);
	const asked = rarestOf(trigramsOf(term), orderIds).map((trigram) => `%${trigram}%`);
	// SQLite keeps the order of a cross join: it begins with the index of trigrams. PostgreSQL asks its own for the whole
	// pattern as well, and knows where words begin and end.
	const foundIn = (table: "order_search" | "order_tail", after: Cursor | undefined, limit: number) => {
		const likes = asked.map((part) => sql`order_search.order_id like ${part}`);
		const own = programmeId === undefined ? sql`` : sql`and conversions.programme_id = ${programmeId}`;
		return sql`select * from (select conversions.id, conversions.id as at
			from ${sql.table(table)} as order_search cross join conversions
			where conversions.id = order_search.rowid and ${sql.join(likes, sql` and `)} ${own}
				and lower(conversions.order_id) like ${patternOf(term)} and order_search.rowid < ${endId(after)}
			order by order_search.rowid desc limit ${limit}) as ${sql.id(`in_${table}`)}`;
	};
	return walkPositions(
		db,
		NEWEST_FIRST,
		(after, limit) => sql<Cursor>`${foundIn("order_search", after, limit)} union all
			${foundIn("order_tail", after, limit)}`,
		matcherOf(filter),
	);
}

/** Along positions that a statement finds. Counting them needs no order, and ends with the first that are enough. */
function walkPositions(
	db: Db,
	sort: ConversionSort,
	positions: (after: Cursor | undefined, limit: number) => RawBuilder<Cursor>,
	matches: Walk["matches"],
): Walk {
	return {
		async read(after, limit) {
			const found = (await firstOf(positions(after, limit), sort, limit).execute(db)).rows;
			return { rows: await readRows(db, found), next: found.length < limit ? null : (found.at(-1) ?? null) };
		},
		async count(limit) {
			const found = db.selectFrom(sql<Cursor>`(${positions(undefined, limit)} limit ${limit})`.as("found"));
			return (await found.select(({ fn }) => fn.countAll<number>().as("rows")).executeTakeFirstOrThrow())
				.rows;
		},
		matches,
		cursorOf: (row) => positionIn(sort.by, row),
	};
}

/**
 * In the order of the positions. What was removed since they were read is left out. Apart from finding them: PostgreSQL
 * would read a table of medium size from end to end to join them.
 */
async function readRows(db: Db, positions: readonly Cursor[]): Promise<Conversion[]> {
	const ids = positions.map(({ id }) => id);
	const rows =
		ids.length === 0 ? [] : await db.selectFrom("conversions").selectAll().where("id", "in", ids).execute();
	const byId = new Map(rows.map((row) => [row.id, row]));
	return ids.flatMap((id) => byId.get(id) ?? []);
}

function walkRows(rows: readonly Conversion[], filter: ConversionFilter, sort: ConversionSort): Walk {
	const cursorOf = (row: Conversion) => positionIn(sort.by, row);
	const sorted = rows.toSorted((one, other) => compare(cursorOf(one), cursorOf(other), sort));
	return {
		async read(after, limit) {
			const behind =
				after === undefined ? sorted : sorted.filter((row) => compare(cursorOf(row), after, sort) > 0);
			const page = behind.slice(0, limit);
			const last = page.at(-1);
			return { rows: page, next: behind.length > limit && last !== undefined ? cursorOf(last) : null };
		},
		count: async (limit) => Math.min(rows.length, limit),
		matches: matcherOf(filter),
		cursorOf,
	};
}

function positionIn(by: ConversionSort["by"], row: Conversion): Cursor {
	const { id } = row;
	if (by === "recorded") return { at: id, id };
	return { at: by === "sale" ? row.occurred_at_ms : Number(row.basket_value.replace(".", "")), id };
}

function compare(one: Cursor, other: Cursor, { direction }: ConversionSort): number {
	const ahead = one.at - other.at || one.id - other.id;
	return direction === "desc" ? -ahead : ahead;
}

/** Undefined when no filter is set. `known` are those that every row matches that is read. */
function matcherOf(
	filter: ConversionFilter,
	known: readonly (keyof ConversionFilter)[] = [],
): Walk["matches"] {
	const names = Object.keys(CHECKS) as (keyof typeof CHECKS)[];
	const set = names.filter((name) => filter[name] !== undefined && !known.includes(name));
	return set.length === 0 ? undefined : (row) => set.every((name) => CHECKS[name](row, filter));
}

/** Each is asked only where its filter is set. */
const CHECKS: Readonly<
	Record<
		// Who is credited is asked of the credits, before a row is read.
		Exclude<keyof ConversionFilter, "partnershipIds">,
		(row: Conversion, filter: ConversionFilter) => boolean
	>
> = {
	programmeId: (row, { programmeId }) => row.programme_id === programmeId,
	status: (row, { status }) => row.status === status,
	eventType: (row, { eventType }) => row.event_type === eventType,
	isTest: (row, { isTest }) => (row.test === 1) === isTest,
	fromMs: (row, { fromMs = 0 }) => row.created_at_ms >= fromMs,
	beforeMs: (row, { beforeMs = 0 }) => row.created_at_ms < beforeMs,
	soldFromMs: (row, { soldFromMs = 0 }) => row.occurred_at_ms >= soldFromMs,
	soldBeforeMs: (row, { soldBeforeMs = 0 }) => row.occurred_at_ms < soldBeforeMs,
	orderId: (row, { orderId }) => row.order_id === orderId,
	search: (row, { search }) =>
		search?.kind === "conversion"
			? row.public_id === search.publicId
			: hasOrder(row.order_id, search?.term ?? ""),
};

function hasSaleRange({ soldFromMs, soldBeforeMs }: ConversionFilter): boolean {
	return soldFromMs !== undefined || soldBeforeMs !== undefined;
}
