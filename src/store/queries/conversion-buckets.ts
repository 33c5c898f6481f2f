// Reads stretches of the indexes of conversions: by recording, by the time of the sale, or by the basket value. A page
// costs the same among a thousand rows and among a million.

import { type RawBuilder, sql } from "kysely";
import { EVENT_TYPES, type EventType, STATUSES, type Status } from "../../domain/conversion.ts";
import type { Cursor } from "../../domain/cursor.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import type { Db } from "../store.ts";
import { BASKET_MINOR } from "../tables/conversions.ts";

export interface BucketFilter {
	/** All programmes by default. */
	programmeId?: number | undefined;
	status?: Status | undefined;
	/** Only with `programmeId`, like `isTest`, because no index over all programmes contains them. */
	eventType?: EventType | undefined;
	isTest?: boolean | undefined;
}

export interface TimeFilter {
	/** Earliest time of recording. */
	fromMs?: number | undefined;
	/** Time before which the conversion was recorded. */
	beforeMs?: number | undefined;
}

/** Sorting by sale or basket works only within a programme. */
export interface ConversionSort {
	by: "recorded" | "sale" | "basket";
	direction: "asc" | "desc";
}

/** Values of the first columns of an index. Rows with these values are next to each other in it. */
type Bucket = Readonly<Record<string, string | number>>;

/** Expression by which an index sorts before the id. */
const KEYS: Readonly<Record<ConversionSort["by"], RawBuilder<unknown> | null>> = {
	recorded: null,
	sale: sql.raw("occurred_at_ms"),
	basket: sql.raw(BASKET_MINOR),
};

/** Greater than any basket value (domain/money.ts). */
export const MOST_MINOR = 10 ** 17;

/**
 * Ids follow the time of recording, except that processes with different clocks record at the same moment. Within this
 * distance from the limit of a time range, the time of each row is checked.
 */
const CLOCK_SLACK_MS = MINUTE_MS;

/**
 * Returns the buckets (status, event type, test or not) that a list in the order of recording merges. All programmes use
 * conversions_by_status. One programme uses conversions_by_bucket, or conversions_by_programme without a filter.
 */
export function bucketsOf({ programmeId, status, eventType, isTest }: BucketFilter): Bucket[] {
	if (programmeId === undefined) return [status === undefined ? {} : { status }];
	const programme = { programme_id: programmeId };
	if (status === undefined && eventType === undefined && isTest === undefined) return [programme];
	const statuses = status === undefined ? STATUSES : [status];
	const eventTypes = eventType === undefined ? EVENT_TYPES : [eventType];
	const tests = isTest === undefined ? [0, 1] : [isTest ? 1 : 0];
	return statuses.flatMap((oneStatus) =>
		eventTypes.flatMap((event_type) =>
			tests.map((test) => ({ ...programme, status: oneStatus, event_type, test })),
		),
	);
}

/** Part of an index between two positions. The positions themselves are excluded. */
export interface Stretch {
	low: Cursor;
	high: Cursor;
	/** Additional condition on the time of recording. */
	exactly?: RawBuilder<unknown>;
}

/** Selects the first positions of the stretch in each bucket. */
export function positionsIn(
	buckets: readonly Bucket[],
	stretch: Stretch,
	{ by, direction, limit }: ConversionSort & { limit: number },
): RawBuilder<Cursor> {
	const parts = buckets.map((bucket, index) =>
		readBucket(bucket, KEYS[by], stretch, sql.raw(direction), limit, index),
	);
	return sql<Cursor>`${sql.join(parts, sql` union all `)}`;
}

/** Selects the first of all positions in the requested order. */
export function firstOf(
	positions: RawBuilder<Cursor>,
	{ by, direction }: ConversionSort,
	limit: number,
): RawBuilder<Cursor> {
	const way = sql.raw(direction);
	const order = KEYS[by] === null ? sql`id ${way}` : sql`at ${way}, id ${way}`;
	return sql<Cursor>`${positions} order by ${order} limit ${limit}`;
}

/**
 * Selects the positions at one end of a bucket. The limits of the stretch are written twice. PostgreSQL uses the
 * comparison of whole rows. With `=` it might scan the newest rows of all shops until it meets this bucket, which is the
 * whole table for a large shop that has stopped selling. SQLite cannot use an index for such a comparison, so it uses the
 * conditions on single columns. The outer select is needed because SQLite allows no limit directly inside a union.
 */
function readBucket(
	bucket: Bucket,
	key: RawBuilder<unknown> | null,
	{ low, high, exactly = sql`` }: Stretch,
	way: RawBuilder<unknown>,
	limit: number,
	index: number,
): RawBuilder<unknown> {
	const keys = key === null ? [] : [key];
	const columns = [...Object.keys(bucket).map((name) => sql.ref(name)), ...keys, sql.ref("id")];
	const row = ({ at, id }: Cursor) =>
		sql`(${sql.join([...Object.values(bucket), ...(key === null ? [] : [at]), id])})`;
	const order = columns.map((column) => sql`${column} ${way}`);
	const oneByOne = [
		...Object.entries(bucket).map(([name, value]) => sql`${sql.ref(name)} is not distinct from ${value}`),
		key === null
			? sql`id > ${low.id} and id < ${high.id}`
			: sql`${key} >= ${low.at} and ${key} <= ${high.at}`,
	];
	return sql`select id, at from (select id, ${key ?? sql.ref("id")} as at from conversions
		where (${sql.join(columns)}) > ${row(low)} and (${sql.join(columns)}) < ${row(high)}
			and ${sql.join(oneByOne, sql` and `)} ${exactly}
		order by ${sql.join(order)} limit ${limit}) as ${sql.id(`bucket_${index}`)}`;
}

/**
 * Converts a time range into a range of ids, so that no index has to contain the time of recording. New rows get higher
 * ids, so a list with the newest rows first may keep its range.
 */
export async function findStretch(db: Db, { fromMs, beforeMs }: TimeFilter): Promise<Required<Stretch>> {
	const from = fromMs === undefined ? sql`` : sql` and created_at_ms >= ${fromMs}`;
	const before = beforeMs === undefined ? sql`` : sql` and created_at_ms < ${beforeMs}`;
	const [firstId, endId] = await Promise.all([
		fromMs === undefined ? 0 : firstIdRecordedAt(db, fromMs - CLOCK_SLACK_MS),
		beforeMs === undefined ? Number.MAX_SAFE_INTEGER : firstIdRecordedAt(db, beforeMs + CLOCK_SLACK_MS),
	]);
	return {
		low: { at: firstId - 1, id: firstId - 1 },
		high: { at: endId, id: endId },
		exactly: sql`${from}${before}`,
	};
}

/** Finds the first id that was recorded at that time or later by halving the range of ids, in one statement. */
async function firstIdRecordedAt(db: Db, atMs: number): Promise<number> {
	const { rows } = await sql<{ id: number }>`
		with recursive span(low, high) as (
			select coalesce((select min(id) from conversions), 0), coalesce((select max(id) from conversions), 0) + 1
			union all
			select case when middle.id < high and middle.created_at_ms < ${atMs} then middle.id + 1 else low end,
				case when middle.id < high and middle.created_at_ms < ${atMs} then high else (low + high) / 2 end
			from span join conversions middle
				on middle.id = (select min(id) from conversions where id >= (low + high) / 2)
			where low < high)
		select low as id from span where low >= high`.execute(db);
	return rows[0]?.id ?? 0;
}
