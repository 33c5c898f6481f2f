// Finds the first entries in ranges of an index. Lists of conversions read the indexes of conversions and of credits
// in this way. If a filter allows several statuses, event types or partnerships, the list merges a range of the index
// for each of them. A page therefore costs the same among a thousand rows and among a million, even if it finds no
// rows.

import { type RawBuilder, sql } from "kysely";
import { EVENT_TYPES, type EventType, STATUSES, type Status } from "../../domain/conversion.ts";
import type { Cursor } from "../../domain/cursor.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import { type Db, isSqlite } from "../schema/tables.ts";
import { BASKET_MINOR, KINDS_PER_PROGRAMME, listKind } from "../tables/conversions.ts";

export interface BucketFilter {
	/** Programme to which the list is limited. By default it covers all programmes. */
	programmeId?: number | undefined;
	status?: Status | undefined;
	eventType?: EventType | undefined;
	isTest?: boolean | undefined;
}

export interface TimeFilter {
	/** Earliest time at which the conversion may have been recorded. */
	fromMs?: number | undefined;
	/** Time before which the conversion must have been recorded. */
	beforeMs?: number | undefined;
}

/**
 * Order of a list. Sorting by sale, basket or change works only within one programme. A list sorted by decision
 * contains only decided conversions, and a list sorted by change contains only conversions that changed after they
 * were recorded.
 */
export interface ConversionSort {
	by: "recorded" | "sale" | "decision" | "basket" | "change";
	direction: "asc" | "desc";
}

/**
 * Part of an index that a list of conversions reads. A bucket is the set of index entries with the same first column.
 */
export interface Buckets {
	table: "conversions" | "credits";
	/** First column of the index. Index entries with the same value of this column form a bucket. */
	column: "list_key" | "list_kind" | "programme_id" | "partnership_id" | "test";
	/** Values of the column whose buckets the list merges. */
	values: readonly number[];
	/** Expression by which a bucket is sorted before the id, or null if it is sorted by the id alone. */
	at: string | null;
	/** True if the index has only rows in which `at` is not null. */
	skipsNull?: boolean;
	id: "id" | "conversion_id";
}

/** Number that is greater than any basket value in minor units (domain/money.ts). */
export const MOST_MINOR = 10 ** 17;

/**
 * Margin by which a range of ids is wider than the time range that it represents. Times of recording rise with the
 * ids, but the clocks of several processes may differ a little. If a clock was set back by more than this margin, a
 * trigger has stored a break in `recording_breaks`. The time of each row is checked as well.
 */
const CLOCK_SLACK_MS = MINUTE_MS;

/** Returns the index and ranges for a list that is sorted by the time of recording. */
export function bucketsOf({ programmeId, ...filter }: BucketFilter): Buckets {
	const buckets = { table: "conversions", at: null, id: "id" } as const;
	const kinds = kindsOf(filter);
	if (programmeId === undefined) return { ...buckets, column: "list_kind", values: kinds };
	const values = kinds.map((kind) => programmeId * KINDS_PER_PROGRAMME + kind);
	return { ...buckets, column: "list_key", values };
}

/**
 * Returns the list kinds that the filter allows. A kind is a combination of status, event type and test flag, so
 * there are at most 84.
 */
export function kindsOf({ status, eventType, isTest }: Omit<BucketFilter, "programmeId">): number[] {
	const statuses = status === undefined ? STATUSES : [status];
	const eventTypes = eventType === undefined ? EVENT_TYPES : [eventType];
	const tests = isTest === undefined ? ([0, 1] as const) : [isTest ? (1 as const) : (0 as const)];
	return statuses.flatMap((oneStatus) =>
		eventTypes.flatMap((event_type) =>
			tests.map((test) => listKind({ status: oneStatus, event_type, test })),
		),
	);
}

/** Expressions by which the lists of one programme are sorted. Each expression has an index. */
const SORTED_BY = {
	sale: "occurred_at_ms",
	decision: "decided_at_ms",
	basket: BASKET_MINOR,
	change: "updated_at_ms",
} as const;

/** Returns the index and range for a programme's list that is not sorted by the time of recording. */
export function sortedBucket(programmeId: number, by: keyof typeof SORTED_BY): Buckets {
	const at = SORTED_BY[by];
	const skipsNull = by === "decision";
	return { table: "conversions", column: "programme_id", values: [programmeId], at, skipsNull, id: "id" };
}

/**
 * Returns the index and ranges for the decided conversions of all programmes, which are in the index
 * conversions_decided.
 */
export function decidedBuckets({ isTest }: Pick<BucketFilter, "isTest">): Buckets {
	const values = isTest === undefined ? [0, 1] : [isTest ? 1 : 0];
	return { table: "conversions", column: "test", values, at: SORTED_BY.decision, skipsNull: true, id: "id" };
}

/**
 * Returns the stretch (range of positions) of conversions that changed. Its condition must be written exactly as in
 * the index conversions_by_change.
 */
export function changeStretch(fromMs: number): Stretch {
	return {
		low: { at: fromMs, id: 0 },
		high: { at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER },
		exactly: sql`and updated_at_ms > created_at_ms`,
	};
}

/**
 * Returns the index and ranges for partners' sales, sorted by the time of the sale, which are in the index
 * credits_by_sale.
 */
export function creditedBuckets(partnershipIds: readonly number[]): Buckets {
	const values = partnershipIds;
	return { table: "credits", column: "partnership_id", values, at: "sold_at_ms", id: "conversion_id" };
}

/** Range of positions that is read in each bucket. Both ends are excluded. */
export interface Stretch {
	low: Cursor;
	high: Cursor;
	/** Condition that each entry must meet in addition to the range. */
	exactly?: RawBuilder<unknown>;
}

/**
 * Returns the first positions over all buckets (index entries with the same first column), in the order of the list.
 */
export async function findPositions(
	db: Db,
	buckets: Buckets,
	stretch: Stretch,
	direction: ConversionSort["direction"],
	limit: number,
): Promise<Cursor[]> {
	if (buckets.values.length === 0) return [];
	const few = selectEntries(db, buckets, stretch, direction, limit);
	if (isSqlite(db)) return mergeOnSqlite(db, buckets, few, direction, limit);
	const way = sql.raw(direction);
	const { rows } = await sql<Cursor>`
		select few.id, few.at from ${wantedValues(buckets)} cross join lateral (${few}) as few
		order by few.at ${way}, few.id ${way} limit ${limit}`.execute(db);
	return rows;
}

/**
 * Merges the buckets on SQLite, which has no lateral join. For each bucket, a subquery returns all positions as one
 * text.
 */
async function mergeOnSqlite(
	db: Db,
	buckets: Buckets,
	few: RawBuilder<unknown>,
	direction: ConversionSort["direction"],
	limit: number,
): Promise<Cursor[]> {
	const position = buckets.at === null ? sql`id` : sql`at || ':' || id`;
	const { rows } = await sql<{ positions: string | null }>`
		select (select group_concat(${position}) from (${few})) as positions from ${wantedValues(buckets)}`.execute(
		db,
	);
	const found = rows.flatMap(({ positions }) => positions?.split(",") ?? []);
	return found
		.map(readPosition)
		.sort((one, other) => comparePositions(one, other, direction))
		.slice(0, limit);
}

/** Counts the positions in the range, up to the limit in each bucket. */
export async function countPositions(
	db: Db,
	buckets: Buckets,
	stretch: Stretch,
	limit: number,
): Promise<number> {
	if (buckets.values.length === 0) return 0;
	const few = selectEntries(db, buckets, stretch, "desc", limit);
	const { rows } = await sql<{ count: number }>`
		select (select count(*) from (${few}) as few) as count from ${wantedValues(buckets)}`.execute(db);
	return rows.reduce((sum, { count }) => sum + count, 0);
}

export function comparePositions(one: Cursor, other: Cursor, direction: ConversionSort["direction"]): number {
	const difference = one.at - other.at || one.id - other.id;
	return direction === "desc" ? -difference : difference;
}

/** Parses "at:id", or the id alone if the bucket is sorted by id. */
function readPosition(text: string): Cursor {
	const [at, id = at] = text.split(":");
	return { at: Number(at), id: Number(id) };
}

/** Returns a table with the values of the buckets. Both databases call its only column `column1`. */
function wantedValues({ values }: Buckets): RawBuilder<unknown> {
	return sql`(values ${sql.join(values.map((value) => sql`(cast(${value} as bigint))`))}) as wanted`;
}

/** Selects the first entries of the bucket with the value `wanted.column1`. */
function selectEntries(
	db: Db,
	buckets: Buckets,
	stretch: Stretch,
	direction: ConversionSort["direction"],
	limit: number,
): RawBuilder<unknown> {
	const [column, id, way] = [sql.ref(buckets.column), sql.ref(buckets.id), sql.raw(direction)];
	const at = buckets.at === null ? null : sql.raw(buckets.at);
	const { low, high, exactly = sql`` } = stretch;
	const notNull = buckets.skipsNull === true ? sql`and ${at} is not null` : sql``;
	const inStretch =
		at === null ? betweenIds(db, column, low.id, high.id) : betweenPositions(column, at, id, low, high);
	const order = [column, ...(at === null ? [] : [at]), id].map((part) => sql`${part} ${way}`);
	return sql`select ${id} as id, ${at ?? id} as at from ${sql.table(buckets.table)}
		where ${inStretch} ${notNull} ${exactly} order by ${sql.join(order)} limit ${limit}`;
}

/**
 * Limits a bucket to a range of ids. On PostgreSQL this is a comparison of rows. With `=`, PostgreSQL may read the
 * newest rows of all shops until it finds a row of this bucket. If it expects few rows, it may also read a large
 * bucket completely and sort it. Before version 18, a scan for a comparison of rows ends only where the first column
 * changes, so a bucket must be a single column. SQLite cannot use an index for a comparison of rows.
 */
function betweenIds(db: Db, column: RawBuilder<unknown>, lowId: number, highId: number): RawBuilder<unknown> {
	return isSqlite(db)
		? sql`${column} = wanted.column1 and id > ${lowId} and id < ${highId}`
		: sql`(${column}, id) > (wanted.column1, ${lowId}) and (${column}, id) < (wanted.column1, ${highId})`;
}

/**
 * Limits a bucket to a range of positions. The limits are also written for the single column, because SQLite cannot
 * use an index for a comparison of rows. A limit that excludes nothing is omitted, because with each condition
 * PostgreSQL expects fewer rows, and may then read and sort the whole bucket.
 */
function betweenPositions(
	column: RawBuilder<unknown>,
	at: RawBuilder<unknown>,
	id: RawBuilder<unknown>,
	low: Cursor,
	high: Cursor,
): RawBuilder<unknown> {
	const conditions = [sql`${column} = wanted.column1`];
	if (low.at > 0 || low.id > 0) {
		conditions.push(sql`${at} >= ${low.at}`, sql`(${at}, ${id}) > (${low.at}, ${low.id})`);
	}
	if (high.at < Number.MAX_SAFE_INTEGER) {
		conditions.push(sql`${at} <= ${high.at}`, sql`(${at}, ${id}) < (${high.at}, ${high.id})`);
	}
	return sql.join(conditions, sql` and `);
}

/**
 * Converts a time range into a range of ids, so that no index has to contain the time of recording. New rows get higher
 * ids, so a list that shows the newest rows first can reuse the range while rows are added.
 */
export async function findStretch(db: Db, { fromMs, beforeMs }: TimeFilter): Promise<Required<Stretch>> {
	const times = [
		...(fromMs === undefined ? [] : [sql`created_at_ms >= ${fromMs}`]),
		...(beforeMs === undefined ? [] : [sql`created_at_ms < ${beforeMs}`]),
	];
	// Without statistics, PostgreSQL expects that few rows satisfy a condition on a range, and may therefore sort whole
	// buckets or compile the statement. For a CASE expression it expects half of the rows.
	const exactly =
		times.length === 0 ? sql`` : sql`and case when ${sql.join(times, sql` and `)} then true else false end`;
	const ranges = await Promise.all(
		(times.length === 0 ? [ALL_IDS] : await findUnbrokenRanges(db)).map(async (range) => ({
			firstId:
				fromMs === undefined ? range.firstId : await firstIdRecordedAt(db, range, fromMs - CLOCK_SLACK_MS),
			endId:
				beforeMs === undefined ? range.endId : await firstIdRecordedAt(db, range, beforeMs + CLOCK_SLACK_MS),
		})),
	);
	const filled = ranges.filter(({ firstId, endId }) => firstId < endId);
	const firstId = Math.min(...filled.map((range) => range.firstId), Number.MAX_SAFE_INTEGER);
	const endId = Math.max(...filled.map((range) => range.endId), 0);
	return {
		low: { at: firstId - 1, id: firstId - 1 },
		high: { at: endId, id: endId },
		exactly,
	};
}

interface IdRange {
	firstId: number;
	endId: number;
}

const ALL_IDS: IdRange = { firstId: 0, endId: Number.MAX_SAFE_INTEGER };

/**
 * Returns the ranges of ids within which times of recording rise. There is a single range unless the clock was set
 * back.
 */
async function findUnbrokenRanges(db: Db): Promise<IdRange[]> {
	const breaks = await db.selectFrom("recording_breaks").select("first_id").orderBy("first_id").execute();
	const firstIds = [ALL_IDS.firstId, ...breaks.map(({ first_id }) => first_id)];
	return firstIds.map((firstId, index) => ({ firstId, endId: firstIds[index + 1] ?? ALL_IDS.endId }));
}

/**
 * Returns the first id of the range that was recorded at or after the given time, or the end of the rows in the range.
 * One statement finds it by a binary search over the ids.
 */
async function firstIdRecordedAt(db: Db, { firstId, endId }: IdRange, atMs: number): Promise<number> {
	const { rows } = await sql<{ id: number }>`
		with recursive span(low, high) as (
			select coalesce((select min(id) from conversions where id >= ${firstId}), cast(${firstId} as bigint)),
				coalesce((select max(id) from conversions where id < ${endId}), cast(${firstId} as bigint) - 1) + 1
			union all
			select case when middle.id < high and middle.created_at_ms < ${atMs} then middle.id + 1 else low end,
				case when middle.id < high and middle.created_at_ms < ${atMs} then high else (low + high) / 2 end
			from span join conversions middle
				on middle.id = (select min(id) from conversions where id >= (low + high) / 2)
			where low < high)
		select low as id from span where low >= high`.execute(db);
	return rows[0]?.id ?? 0;
}
