// The list of conversions for the API, the pages, the export and the totals of a filter. There are four ways to read it:
//
//   1. A filter that names one order or one conversion has a few rows, which are read and sorted (walkRows).
//   2. Otherwise the rows are read in the order of the index for the requested sort (walkIndex, walkCredited). Filters that
//      the index does not contain are checked on each row that was read.
//   3. If that finds too few rows, a search for order ids uses the index of trigrams (walkOrderSearch).
//   4. Any other filter that finds at most MAX_COLLECTED rows is read completely and sorted (walkRows).

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

/** Every condition is optional. */
export interface ConversionFilter extends BucketFilter, TimeFilter {
	/** A complete order id. A programme has at most one conversion of each event type for it. */
	orderId?: string | undefined;
	/** Text that a person typed to find an order. */
	search?: OrderSearch | undefined;
	/** Earliest time of the sale, and the time before which it must be. Only together with `programmeId`. */
	soldFromMs?: number | undefined;
	soldBeforeMs?: number | undefined;
	/** Partnerships of which one must have the credit. Such a list is sorted by the time of the sale. */
	partnershipIds?: readonly number[] | undefined;
}

export interface ConversionListRequest extends ConversionFilter, PageRequest {
	/** `NEWEST_FIRST` by default. */
	sort?: ConversionSort | undefined;
}

export const NEWEST_FIRST: ConversionSort = { by: "recorded", direction: "desc" };

interface Walk extends ListWalk<Conversion> {
	/** Counts the rows that the walk reads, up to the limit. Rows that do not match are included. */
	count(limit: number): Promise<number>;
}

/** Returns one page of the list. */
export async function listConversions(
	db: Db,
	{ after, limit, sort = NEWEST_FIRST, ...filter }: ConversionListRequest,
): Promise<ListPage<Conversion>> {
	const request = { after, limit };
	const namedRows = await findNamedRows(db, filter);
	if (namedRows !== null) return readListPage(walkRows(namedRows, filter, sort), request);
	const page = await readListPage(await walkIndex(db, filter, sort), request);
	if (!page.isPartial || filter.partnershipIds !== undefined) return page;
	const fallback = await openFallbackWalk(db, filter, sort);
	if (fallback === null) return page;
	const fallbackPage = await readListPage(fallback, request);
	// Both pages list every match up to the point at which they end, so the one that ends later is better.
	return !fallbackPage.isPartial || endsLater(fallbackPage, page, sort) ? fallbackPage : page;
}

/** Tells which of two partial pages comes further down the list. */
function endsLater(
	{ next: one }: ListPage<unknown>,
	{ next: other }: ListPage<unknown>,
	sort: ConversionSort,
): boolean {
	return one !== null && other !== null && compare(one, other, sort) > 0;
}

/** Yields all rows of the list in batches. Rows may be added, changed or removed meanwhile, but none is listed twice. */
export async function* readAllConversions(
	db: Db,
	filter: ConversionFilter,
	batchRows: number,
	sort: ConversionSort = NEWEST_FIRST,
): AsyncGenerator<readonly Conversion[]> {
	for await (const { rows } of walkAll(await openWalk(db, filter, sort), batchRows)) yield rows;
}

/** Maximum number of rows that a page reads to sort or add them up, which takes some twenty milliseconds. */
export const MAX_COLLECTED = 5_000;
const SLICE_ROWS = 1_000;

export interface CollectedConversions {
	/** The matching rows, or null if more than `MAX_COLLECTED` rows would have to be read. */
	rows: Conversion[] | null;
	/** Number of matching rows. If `rows` is null, there are at least as many. */
	count: number;
}

/** Returns all conversions that match the filter, unless too many rows would have to be read. */
export async function collectMatches(db: Db, filter: ConversionFilter): Promise<CollectedConversions> {
	const isBySale =
		filter.programmeId !== undefined &&
		filter.partnershipIds === undefined &&
		hasSaleRange(filter) &&
		indexedTerm(filter) === null;
	const walk = await openWalk(db, filter, isBySale ? { by: "sale", direction: "desc" } : NEWEST_FIRST);
	if ((await walk.count(MAX_COLLECTED + 1)) > MAX_COLLECTED) {
		return { rows: null, count: walk.matches === undefined ? MAX_COLLECTED : 0 };
	}
	const rows: Conversion[] = [];
	for await (const batch of walkAll(walk, SLICE_ROWS)) rows.push(...batch.rows);
	return { rows, count: rows.length };
}

/** Returns the walk that reads the fewest rows to get to the end of the list. */
async function openWalk(db: Db, filter: ConversionFilter, sort: ConversionSort): Promise<Walk> {
	const namedRows = await findNamedRows(db, filter);
	if (namedRows !== null) return walkRows(namedRows, filter, sort);
	const walk = await walkIndex(db, filter, sort);
	const term = filter.partnershipIds === undefined ? indexedTerm(filter) : null;
	if (term === null || !isNewestFirst(sort)) return walk;
	return (await walk.count(MAX_COLLECTED + 1)) > MAX_COLLECTED ? walkOrderSearch(db, filter, term) : walk;
}

/** Returns another index scan for a page whose first scan found too few rows, or null if there is none. */
async function openFallbackWalk(
	db: Db,
	filter: ConversionFilter,
	sort: ConversionSort,
): Promise<Walk | null> {
	const term = indexedTerm(filter);
	if (term !== null && isNewestFirst(sort)) return walkOrderSearch(db, filter, term);
	const { rows } = await collectMatches(db, filter);
	return rows === null ? null : walkRows(rows, filter, sort);
}

function isNewestFirst({ by, direction }: ConversionSort): boolean {
	return by === "recorded" && direction === "desc";
}

/** Returns the text that was searched for if it is long enough for the index of trigrams, and null otherwise. */
function indexedTerm({ search }: ConversionFilter): string | null {
	return search?.kind === "orders" && trigramsOf(search.term).length > 0 ? search.term : null;
}

/** Returns the rows of the order or the conversion that the filter names, or null if it names neither. */
async function findNamedRows(db: Db, filter: ConversionFilter): Promise<Conversion[] | null> {
	const rows = await findRowsOfOrder(db, filter);
	const { partnershipIds } = filter;
	if (rows === null || partnershipIds === undefined) return rows;
	const credits = await findCredits(
		db,
		rows.map(({ id }) => id),
	);
	return rows.filter(({ id }) => partnershipIds.includes(credits.get(id)?.partnership_id ?? 0));
}

async function findRowsOfOrder(
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

/** Reads the list in the order of the index that belongs to the sort. */
async function walkIndex(db: Db, filter: ConversionFilter, sort: ConversionSort): Promise<Walk> {
	if (filter.partnershipIds !== undefined) return walkCredited(db, filter, filter.partnershipIds, sort);
	const { programmeId, soldFromMs = 0, soldBeforeMs = Number.MAX_SAFE_INTEGER } = filter;
	// The ends of a stretch are not part of it. Sales are dated after 1970, and ids are greater than 0.
	const stretches: Record<ConversionSort["by"], () => Promise<Stretch>> = {
		recorded: () => findStretch(db, filter),
		sale: async () => ({ low: { at: soldFromMs, id: 0 }, high: { at: soldBeforeMs, id: 0 } }),
		basket: async () => ({ low: { at: 0, id: 0 }, high: { at: MOST_MINOR, id: 0 } }),
	};
	const by = programmeId === undefined ? "recorded" : sort.by;
	const stretch: Stretch = await stretches[by]();
	const buckets = bucketsOf(by === "recorded" ? filter : { programmeId });
	const filtersOfIndex: Record<ConversionSort["by"], readonly (keyof ConversionFilter)[]> = {
		// No index over all programmes contains the event type or whether a conversion is a test.
		recorded: ["status", "fromMs", "beforeMs", ...(programmeId === undefined ? [] : OF_A_PROGRAMME)],
		sale: ["programmeId", "soldFromMs", "soldBeforeMs"],
		basket: ["programmeId"],
	};
	return walkPositions(
		db,
		{ by, direction: sort.direction },
		(after, limit) => {
			const start =
				sort.direction === "desc" ? { high: after ?? stretch.high } : { low: after ?? stretch.low };
			return positionsIn(buckets, { ...stretch, ...start }, { by, direction: sort.direction, limit });
		},
		matcherOf(filter, filtersOfIndex[by]),
	);
}

/** SQLite allows at most five hundred parts in a union, so parts are united in groups. */
const PARTS_PER_GROUP = 100;

/** Reads conversions credited to the partnerships, by the time of the sale. Uses a stretch of credits_by_sale for each. */
function walkCredited(
	db: Db,
	filter: ConversionFilter,
	partnershipIds: readonly number[],
	{ direction }: ConversionSort,
): Walk {
	const { soldFromMs = 0, soldBeforeMs = Number.MAX_SAFE_INTEGER } = filter;
	const way = sql.raw(direction);
	// The limits are written twice, for the reason given at readBucket in conversion-buckets.ts.
	const creditsOf = (partnershipId: number, low: Cursor, high: Cursor, limit: number) => sql`
		select id, at from (select conversion_id as id, sold_at_ms as at from credits where partnership_id = ${partnershipId}
			and sold_at_ms >= ${low.at} and sold_at_ms <= ${high.at}
			and (sold_at_ms, conversion_id) > (${low.at}, ${low.id})
			and (sold_at_ms, conversion_id) < (${high.at}, ${high.id})
			order by partnership_id ${way}, sold_at_ms ${way}, conversion_id ${way} limit ${limit}) as ${sql.id(`of_${partnershipId}`)}`;
	return walkPositions(
		db,
		{ by: "sale", direction },
		(after, limit) => {
			const low = direction === "asc" && after !== undefined ? after : { at: soldFromMs, id: 0 };
			const high = direction === "desc" && after !== undefined ? after : { at: soldBeforeMs, id: 0 };
			// No partnership has the id 0. It keeps the union from being empty.
			const parts = [0, ...partnershipIds].map((id) => creditsOf(id, low, high, limit));
			const groups = Map.groupBy(parts.entries(), ([at]) => Math.floor(at / PARTS_PER_GROUP));
			const united = [...groups].map(([at, members]) => {
				const group = sql.join(
					members.map(([, part]) => part),
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

/** Number of order ids that are read to find out which trigrams are rare. */
const SAMPLE_ROWS = 200;

/** Reads conversions whose order id contains the term, the newest first. */
async function walkOrderSearch(db: Db, filter: ConversionFilter, term: string): Promise<Walk> {
	const { programmeId } = filter;
	const newest = positionsIn(bucketsOf({ programmeId }), EVERYWHERE, { ...NEWEST_FIRST, limit: SAMPLE_ROWS });
	const sample = await readRows(db, (await firstOf(newest, NEWEST_FIRST, SAMPLE_ROWS).execute(db)).rows);
	const orderIds = sample.map((row) => row.order_id);
	const rarePatterns = rarestOf(trigramsOf(term), orderIds).map((trigram) => `%${trigram}%`);
	// SQLite does not reorder a cross join, so it starts with the index of trigrams. PostgreSQL uses its own index of trigrams
	// for the complete pattern.
	const foundIn = (table: "order_search" | "order_tail", after: Cursor | undefined, limit: number) => {
		const likes = rarePatterns.map((part) => sql`order_search.order_id like ${part}`);
		const inProgramme =
			programmeId === undefined ? sql`` : sql`and conversions.programme_id = ${programmeId}`;
		return sql`select * from (select conversions.id, conversions.id as at
			from ${sql.table(table)} as order_search cross join conversions
			where conversions.id = order_search.rowid and ${sql.join(likes, sql` and `)} ${inProgramme}
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

/** Reads the rows at the positions that a statement finds. Counting needs no order and stops at the limit. */
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
 * Returns the rows in the order of the positions, without rows that were removed in the meantime. Positions and rows are
 * read by two statements, because PostgreSQL would scan a table of medium size completely to join them.
 */
async function readRows(db: Db, positions: readonly Cursor[]): Promise<Conversion[]> {
	const ids = positions.map(({ id }) => id);
	const rows =
		ids.length === 0 ? [] : await db.selectFrom("conversions").selectAll().where("id", "in", ids).execute();
	const byId = new Map(rows.map((row) => [row.id, row]));
	return ids.flatMap((id) => byId.get(id) ?? []);
}

/** Sorts rows that are in memory. */
function walkRows(rows: readonly Conversion[], filter: ConversionFilter, sort: ConversionSort): Walk {
	const cursorOf = (row: Conversion) => positionIn(sort.by, row);
	const sorted = rows.toSorted((one, other) => compare(cursorOf(one), cursorOf(other), sort));
	return {
		async read(after, limit) {
			const remaining =
				after === undefined ? sorted : sorted.filter((row) => compare(cursorOf(row), after, sort) > 0);
			const page = remaining.slice(0, limit);
			const last = page.at(-1);
			return { rows: page, next: remaining.length > limit && last !== undefined ? cursorOf(last) : null };
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

/** Compares two positions. The result is negative if the first one is listed first. */
function compare(one: Cursor, other: Cursor, { direction }: ConversionSort): number {
	const difference = one.at - other.at || one.id - other.id;
	return direction === "desc" ? -difference : difference;
}

/** Returns a check of the filters that are set, or undefined if there is nothing to check. Rows already match `satisfied`. */
function matcherOf(
	filter: ConversionFilter,
	satisfied: readonly (keyof ConversionFilter)[] = [],
): Walk["matches"] {
	const names = Object.keys(CHECKS) as (keyof typeof CHECKS)[];
	const open = names.filter((name) => filter[name] !== undefined && !satisfied.includes(name));
	return open.length === 0 ? undefined : (row) => open.every((name) => CHECKS[name](row, filter));
}

/** One check for each filter. It is used only if the filter is set. */
const CHECKS: Readonly<
	Record<
		// Partnerships are matched in the table of credits, before a conversion is read.
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
