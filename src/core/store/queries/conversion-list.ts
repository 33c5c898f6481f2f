// The list of conversions for the API, the pages, the export and the totals of a filter. There are four ways to read it:
//
//   1. A filter that names one order or one conversion has a few rows, which are read and sorted (walkRows).
//   2. Otherwise the rows are read in the order of the index for the requested sort (walkIndex). Filters that the
//      index does not contain are checked on each row that was read.
//   3. If that finds too few rows, a search for order ids uses the index of trigrams (walkOrderSearch).
//   4. Any other filter that finds at most MAX_COLLECTED rows is read completely and sorted (walkRows).

import { sql } from "kysely";
import { findCredits } from "#modules/partners/store/credits.ts";
import type { Cursor } from "../../domain/cursor.ts";
import { hasOrder, type OrderSearch, patternOf, rarestOf, trigramsOf } from "../../domain/order-id.ts";
import type { Db } from "../store.ts";
import {
	type BucketFilter,
	type Buckets,
	bucketsOf,
	type ConversionSort,
	changeStretch,
	comparePositions,
	countPositions,
	creditedBuckets,
	decidedBuckets,
	findPositions,
	findStretch,
	MOST_MINOR,
	type Stretch,
	sortedBucket,
	type TimeFilter,
} from "./conversion-buckets.ts";
import { type Conversion, findManyByPublicId } from "./conversions.ts";
import { endId, type ListPage, type ListWalk, type PageRequest, readListPage, walkAll } from "./list-page.ts";

export type { ConversionSort } from "./conversion-buckets.ts";

export interface ConversionFilter extends BucketFilter, TimeFilter {
	/** Complete order id. A programme has at most one conversion of each event type for an order id. */
	orderId?: string | undefined;
	search?: OrderSearch | undefined;
	/** Time of the sale, from `soldFromMs` inclusive to `soldBeforeMs` exclusive. These filters require `programmeId`. */
	soldFromMs?: number | undefined;
	soldBeforeMs?: number | undefined;
	/**
	 * Time of the last decision, from `decidedFromMs` inclusive to `decidedBeforeMs` exclusive. If either is set,
	 * conversions that were not decided are left out.
	 */
	decidedFromMs?: number | undefined;
	decidedBeforeMs?: number | undefined;
	/**
	 * Earliest time of the last change of conversions that changed after they were recorded. This filter requires
	 * `programmeId` and the sort by change.
	 */
	changedFromMs?: number | undefined;
	/**
	 * Partnerships to which the conversions must be credited. A list with this filter is sorted by the time of the
	 * sale.
	 */
	partnershipIds?: readonly number[] | undefined;
}

export interface ConversionListRequest extends ConversionFilter, PageRequest {
	sort?: ConversionSort | undefined;
}

export const NEWEST_FIRST: ConversionSort = { by: "recorded", direction: "desc" };

interface Walk extends ListWalk<Conversion> {
	/**
	 * Counts the rows that the walk would read, up to the limit. The count includes rows that do not match the filter.
	 */
	count(limit: number): Promise<number>;
}

export async function listConversions(
	db: Db,
	{ after, limit, isCounted, sort = NEWEST_FIRST, ...filter }: ConversionListRequest,
): Promise<ListPage<Conversion>> {
	const request = { after, limit, isCounted };
	const namedRows = await findNamedRows(db, filter);
	if (namedRows !== null) return readListPage(walkRows(namedRows, filter, sort), request);
	const page = await readListPage(await walkIndex(db, filter, sort), request);
	if (!page.isPartial || filter.partnershipIds !== undefined) return page;
	const fallback = await openFallbackWalk(db, filter, sort);
	if (fallback === null) return page;
	const fallbackPage = await readListPage(fallback, request);
	// Each of the two pages lists all matches up to the position at which it ends, so the page that ends further down
	// the list is better.
	return !fallbackPage.isPartial || endsLater(fallbackPage, page, sort) ? fallbackPage : page;
}

/** Returns whether the first of two partial pages ends further down the list than the second. */
function endsLater(
	{ next: one }: ListPage<unknown>,
	{ next: other }: ListPage<unknown>,
	sort: ConversionSort,
): boolean {
	return one !== null && other !== null && comparePositions(one, other, sort.direction) > 0;
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
	/** Matching rows, or null if more than `MAX_COLLECTED` rows would have to be read. */
	rows: Conversion[] | null;
	/** Number of matching rows. If `rows` is null, it is only a lower bound. */
	count: number;
}

/** Returns all conversions that match the filter, unless too many rows would have to be read. */
export async function collectMatches(db: Db, filter: ConversionFilter): Promise<CollectedConversions> {
	const walk = await openWalk(db, filter, { by: narrowestOrder(filter), direction: "desc" });
	if ((await walk.count(MAX_COLLECTED + 1)) > MAX_COLLECTED) {
		return { rows: null, count: walk.matches === undefined ? MAX_COLLECTED : 0 };
	}
	const rows: Conversion[] = [];
	for await (const batch of walkAll(walk, SLICE_ROWS)) rows.push(...batch.rows);
	return { rows, count: rows.length };
}

/** Returns the sort order whose index can also filter by time, so that the fewest rows are read. */
function narrowestOrder(filter: ConversionFilter): ConversionSort["by"] {
	const { programmeId, partnershipIds } = filter;
	if (partnershipIds !== undefined || indexedTerm(filter) !== null) return "recorded";
	if (filter.decidedFromMs !== undefined || filter.decidedBeforeMs !== undefined) return "decision";
	if (programmeId === undefined) return "recorded";
	return filter.soldFromMs !== undefined || filter.soldBeforeMs !== undefined ? "sale" : "recorded";
}

/**
 * Returns the walk (a way to read rows in the order of the list) that reads the fewest rows until the end of the
 * list.
 */
async function openWalk(db: Db, filter: ConversionFilter, sort: ConversionSort): Promise<Walk> {
	const namedRows = await findNamedRows(db, filter);
	if (namedRows !== null) return walkRows(namedRows, filter, sort);
	const walk = await walkIndex(db, filter, sort);
	const term = filter.partnershipIds === undefined ? indexedTerm(filter) : null;
	if (term === null || !isNewestFirst(sort)) return walk;
	return (await walk.count(MAX_COLLECTED + 1)) > MAX_COLLECTED ? walkOrderSearch(db, filter, term) : walk;
}

/** Returns another way to read the rows if the first way found too few for a page, or null if there is none. */
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

/** Returns the search term if it is long enough for the index of trigrams, and null otherwise. */
function indexedTerm({ search }: ConversionFilter): string | null {
	return search?.kind === "orders" && trigramsOf(search.term).length > 0 ? search.term : null;
}

/** Returns the rows of the order or conversion that the filter names, or null if the filter names neither. */
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
	const { programmeId, partnershipIds } = filter;
	const { direction } = sort;
	if (partnershipIds !== undefined) {
		const bySale = { by: "sale", direction } as const;
		const matches = matcherOf(filter, ["soldFromMs", "soldBeforeMs"]);
		return walkBuckets(db, creditedBuckets(partnershipIds), saleStretch(filter), bySale, matches);
	}
	if (programmeId === undefined && sort.by === "decision") {
		const matches = matcherOf(filter, ["isTest", "decidedFromMs", "decidedBeforeMs"]);
		return walkBuckets(db, decidedBuckets(filter), decisionStretch(filter), sort, matches);
	}
	if (programmeId === undefined || sort.by === "recorded") {
		const recorded = { by: "recorded", direction } as const;
		const matches = matcherOf(filter, OF_LIST_KEYS);
		return walkBuckets(db, bucketsOf(filter), await findStretch(db, filter), recorded, matches);
	}
	const { stretch, satisfied } = sortedStretch(filter, sort.by);
	const matches = matcherOf(filter, ["programmeId", ...satisfied]);
	return walkBuckets(db, sortedBucket(programmeId, sort.by), stretch, sort, matches);
}

/** Returns the range of positions in a programme's sorted list, and the filters that this range satisfies. */
function sortedStretch(
	filter: ConversionFilter,
	by: Exclude<ConversionSort["by"], "recorded">,
): { stretch: Stretch; satisfied: readonly (keyof ConversionFilter)[] } {
	switch (by) {
		case "sale":
			return { stretch: saleStretch(filter), satisfied: ["soldFromMs", "soldBeforeMs"] };
		case "decision":
			return {
				stretch: decisionStretch(filter),
				satisfied: ["decidedFromMs", "decidedBeforeMs"],
			};
		case "change":
			return { stretch: changeStretch(filter.changedFromMs ?? 0), satisfied: ["changedFromMs"] };
		case "basket":
			return { stretch: { low: { at: 0, id: 0 }, high: { at: MOST_MINOR, id: 0 } }, satisfied: [] };
		default:
			return by satisfies never;
	}
}

/** Filters that need no check on each row, because the list keys and the range of ids already satisfy them. */
const OF_LIST_KEYS = ["programmeId", "status", "eventType", "isTest", "fromMs", "beforeMs"] as const;

function saleStretch({ soldFromMs, soldBeforeMs }: ConversionFilter): Stretch {
	return timeStretch(soldFromMs, soldBeforeMs);
}

/**
 * Returns the range of positions for a time range. Both ends of a range of positions are excluded, but no row has the
 * id 0, so the result includes `fromMs`. No sale or decision is dated before 1970.
 */
function timeStretch(fromMs = 0, beforeMs = Number.MAX_SAFE_INTEGER): Stretch {
	return { low: { at: fromMs, id: 0 }, high: { at: beforeMs, id: 0 } };
}

/**
 * Returns the range of positions of decided conversions. The condition must be written exactly as in the indexes
 * conversions_by_decision and conversions_decided.
 */
function decisionStretch({ decidedFromMs, decidedBeforeMs }: ConversionFilter): Stretch {
	return { ...timeStretch(decidedFromMs, decidedBeforeMs), exactly: sql`and decided_at_ms is not null` };
}

const EVERYWHERE: Stretch = {
	low: { at: 0, id: 0 },
	high: { at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER },
};

/** Number of order ids that are read to estimate which trigrams are rare. */
const SAMPLE_ROWS = 200;

/** Reads conversions whose order id contains the term, the newest first. */
async function walkOrderSearch(db: Db, filter: ConversionFilter, term: string): Promise<Walk> {
	const { programmeId } = filter;
	const newest = await findPositions(db, bucketsOf({ programmeId }), EVERYWHERE, "desc", SAMPLE_ROWS);
	const sample = await readRows(db, newest);
	const orderIds = sample.map((row) => row.order_id);
	const rarePatterns = rarestOf(trigramsOf(term), orderIds).map((trigram) => `%${trigram}%`);
	// SQLite does not reorder a cross join, so it starts with the index of trigrams. PostgreSQL uses its own index of
	// trigrams for the complete pattern.
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
	const find = (after: Cursor | undefined, limit: number) => sql<Cursor>`
		${foundIn("order_search", after, limit)} union all ${foundIn("order_tail", after, limit)}`;
	return {
		...walkPositions(
			db,
			async (after, limit) =>
				(await sql<Cursor>`${find(after, limit)} order by id desc limit ${limit}`.execute(db)).rows,
			NEWEST_FIRST,
			matcherOf(filter),
		),
		async count(limit) {
			const found = db.selectFrom(sql<Cursor>`(${find(undefined, limit)} limit ${limit})`.as("found"));
			return (await found.select(({ fn }) => fn.countAll<number>().as("rows")).executeTakeFirstOrThrow())
				.rows;
		},
	};
}

function walkBuckets(
	db: Db,
	buckets: Buckets,
	stretch: Stretch,
	sort: ConversionSort,
	matches: Walk["matches"],
): Walk {
	const { direction } = sort;
	const find = (after: Cursor | undefined, limit: number) => {
		const start = direction === "desc" ? { high: after ?? stretch.high } : { low: after ?? stretch.low };
		return findPositions(db, buckets, { ...stretch, ...start }, direction, limit);
	};
	return {
		...walkPositions(db, find, sort, matches),
		count: (limit) => countPositions(db, buckets, stretch, limit),
	};
}

function walkPositions(
	db: Db,
	find: (after: Cursor | undefined, limit: number) => Promise<readonly Cursor[]>,
	sort: ConversionSort,
	matches: Walk["matches"],
): ListWalk<Conversion> {
	return {
		async read(after, limit) {
			const found = await find(after, limit);
			return { rows: await readRows(db, found), next: found.length < limit ? null : (found.at(-1) ?? null) };
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

function walkRows(rows: readonly Conversion[], filter: ConversionFilter, sort: ConversionSort): Walk {
	const cursorOf = (row: Conversion) => positionIn(sort.by, row);
	const sorted = rows.toSorted((one, other) =>
		comparePositions(cursorOf(one), cursorOf(other), sort.direction),
	);
	return {
		async read(after, limit) {
			const remaining =
				after === undefined
					? sorted
					: sorted.filter((row) => comparePositions(cursorOf(row), after, sort.direction) > 0);
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
	switch (by) {
		case "recorded":
			return { at: id, id };
		case "sale":
			return { at: row.occurred_at_ms, id };
		case "decision":
			return { at: row.decided_at_ms ?? 0, id };
		case "basket":
			return { at: Number(row.basket_value.replace(".", "")), id };
		case "change":
			return { at: row.updated_at_ms, id };
		default:
			return by satisfies never;
	}
}

/**
 * Returns a function that checks a row against the filters that are set, or undefined if there is nothing to check. The
 * filters in `satisfied` are not checked.
 */
function matcherOf(
	filter: ConversionFilter,
	satisfied: readonly (keyof ConversionFilter)[] = [],
): Walk["matches"] {
	const names = Object.keys(CHECKS) as (keyof typeof CHECKS)[];
	const open = names.filter((name) => filter[name] !== undefined && !satisfied.includes(name));
	return open.length === 0 ? undefined : (row) => open.every((name) => CHECKS[name](row, filter));
}

/** Checks by the name of the filter. A check is used only if its filter is set. */
const CHECKS: Readonly<
	Record<
		// Partnerships are matched in the table of credits before a conversion is read, so they need no check.
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
	decidedFromMs: (row, { decidedFromMs = 0 }) =>
		row.decided_at_ms !== null && row.decided_at_ms >= decidedFromMs,
	decidedBeforeMs: (row, { decidedBeforeMs = 0 }) =>
		row.decided_at_ms !== null && row.decided_at_ms < decidedBeforeMs,
	changedFromMs: (row, { changedFromMs = 0 }) =>
		row.updated_at_ms >= changedFromMs && row.updated_at_ms > row.created_at_ms,
	orderId: (row, { orderId }) => row.order_id === orderId,
	search: (row, { search }) =>
		search?.kind === "conversion"
			? row.public_id === search.publicId
			: hasOrder(row.order_id, search?.term ?? ""),
};
