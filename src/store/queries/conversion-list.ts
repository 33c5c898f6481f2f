// The one list of conversions: for the API, the pages, the export and what a filter comes to. Each way to sort it has an
// index to walk; filters that the index does not know are held against the rows that are read. Where a page ends so with
// too few, the index of order ids is asked, or all that the narrowest filter finds is read and sorted.

import type { Cursor } from "../../domain/cursor.ts";
import { hasOrder, indexedPattern, type OrderSearch } from "../../domain/order-id.ts";
import type { Db } from "../store.ts";
import {
	type BucketFilter,
	bucketsOf,
	type ConversionSort,
	findStretch,
	MOST_MINOR,
	readPositions,
	type Stretch,
	type TimeFilter,
} from "./conversion-buckets.ts";
import { type Conversion, findManyByPublicId } from "./conversions.ts";
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
}

export interface ConversionListRequest extends ConversionFilter, PageRequest {
	/** The newest first unless told. */
	sort?: ConversionSort | undefined;
}

export const NEWEST_FIRST: ConversionSort = { by: "recorded", direction: "desc" };

type Walk = ListWalk<Conversion>;

export async function listConversions(
	db: Db,
	{ after, limit, sort = NEWEST_FIRST, ...filter }: ConversionListRequest,
): Promise<ListPage<Conversion>> {
	const request = { after, limit };
	const few = await findFew(db, filter);
	if (few !== null) return readListPage(walkRows(few, filter, sort), request);
	const page = await readListPage(await walkIndex(db, filter, sort), request);
	if (!page.isPartial) return page;
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
	rows: readonly Conversion[];
	/** False when there were more to look at than `MAX_COLLECTED`: there may be more that match. */
	isAll: boolean;
}

/** All that a filter finds, as long as it is not too much. `pause` lets everybody else get on between two slices. */
export async function collectMatches(
	db: Db,
	filter: ConversionFilter,
	pause: () => Promise<void> = async () => undefined,
): Promise<CollectedConversions> {
	const rows: Conversion[] = [];
	let looked = 0;
	const isSold = filter.programmeId !== undefined && hasSaleRange(filter) && patternOf(filter) === null;
	const walk = await openWalk(db, filter, isSold ? { by: "sale", direction: "desc" } : NEWEST_FIRST);
	for await (const batch of walkAll(walk, SLICE_ROWS)) {
		looked += batch.looked;
		if (looked > MAX_COLLECTED) return { rows, isAll: false };
		rows.push(...batch.rows);
		await pause();
	}
	return { rows, isAll: true };
}

/** The one that leads to the end of the list along the fewest rows. */
async function openWalk(db: Db, filter: ConversionFilter, sort: ConversionSort): Promise<Walk> {
	const few = await findFew(db, filter);
	if (few !== null) return walkRows(few, filter, sort);
	const pattern = patternOf(filter);
	return pattern !== null && isNewestFirst(sort)
		? walkFound(db, filter, pattern)
		: walkIndex(db, filter, sort);
}

/** For a list of which the index's own order showed too little; null where nothing else leads further. */
async function openOtherWalk(db: Db, filter: ConversionFilter, sort: ConversionSort): Promise<Walk | null> {
	const pattern = patternOf(filter);
	if (pattern !== null && isNewestFirst(sort)) return walkFound(db, filter, pattern);
	const { rows, isAll } = await collectMatches(db, filter);
	return isAll ? walkRows(rows, filter, sort) : null;
}

function isNewestFirst({ by, direction }: ConversionSort): boolean {
	return by === "recorded" && direction === "desc";
}

function patternOf({ search }: ConversionFilter): string | null {
	return search?.kind === "orders" ? indexedPattern(search.term) : null;
}

/** The rows of one order or of one conversion; null where the filter names neither. */
async function findFew(
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
	const { programmeId, soldFromMs = 0, soldBeforeMs = Number.MAX_SAFE_INTEGER } = filter;
	// Times of sale are later than 1970, and ids above 0.
	const stretches = {
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
	return {
		async read(after, limit) {
			const rest =
				sort.direction === "desc" ? { high: after ?? stretch.high } : { low: after ?? stretch.low };
			const asked = { by, direction: sort.direction, limit };
			const positions = await readPositions(db, buckets, { ...stretch, ...rest }, asked);
			return readRows(db, positions, limit);
		},
		matches: matcherOf(filter, known[by]),
		cursorOf: (row) => positionIn(by, row),
	};
}

const OF_A_PROGRAMME = ["programmeId", "eventType", "isTest"] as const;

/** Those whose order id fits the pattern, the newest first. */
function walkFound(db: Db, filter: ConversionFilter, pattern: string): Walk {
	return {
		async read(after, limit) {
			const foundIn = (table: "order_search" | "order_tail") =>
				db
					.selectFrom(table)
					.select(["rowid as id", "rowid as at"])
					.where("order_id", "like", pattern)
					.where("rowid", "<", endId(after));
			const found = await foundIn("order_search")
				.unionAll(foundIn("order_tail"))
				.orderBy("id", "desc")
				.limit(limit)
				.execute();
			return readRows(db, found, limit);
		},
		matches: matcherOf(filter),
		cursorOf: (row) => positionIn("recorded", row),
	};
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
		matches: matcherOf(filter),
		cursorOf,
	};
}

/** In the order of the positions. What was removed since they were read is left out, and does not end the list. */
async function readRows(db: Db, positions: readonly Cursor[], limit: number) {
	const ids = positions.map(({ id }) => id);
	const rows =
		ids.length === 0 ? [] : await db.selectFrom("conversions").selectAll().where("id", "in", ids).execute();
	const byId = new Map(rows.map((row) => [row.id, row]));
	const next = positions.length < limit ? null : (positions.at(-1) ?? null);
	return { rows: ids.flatMap((id) => byId.get(id) ?? []), next };
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
	const names = Object.keys(CHECKS) as (keyof ConversionFilter)[];
	const set = names.filter((name) => filter[name] !== undefined && !known.includes(name));
	return set.length === 0 ? undefined : (row) => set.every((name) => CHECKS[name](row, filter));
}

/** Each is asked only where its filter is set. */
const CHECKS: Readonly<
	Record<keyof ConversionFilter, (row: Conversion, filter: ConversionFilter) => boolean>
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
