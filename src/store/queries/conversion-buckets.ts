// Stretches of the indexes of conversions, in the order of the index: as they were recorded, by the time of the sale, or
// by the basket. A page costs the same among a thousand rows and a million.

import { type RawBuilder, sql } from "kysely";
import { EVENT_TYPES, type EventType, STATUSES, type Status } from "../../domain/conversion.ts";
import type { Cursor } from "../../domain/cursor.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import type { Db } from "../store.ts";
import { BASKET_MINOR } from "../tables/conversions.ts";

export interface BucketFilter {
	/** Left out: all of them. */
	programmeId?: number | undefined;
	status?: Status | undefined;
	/** These two within a programme only: no index knows them across all. */
	eventType?: EventType | undefined;
	isTest?: boolean | undefined;
}

export interface TimeFilter {
	/** Recorded at this moment or later. */
	fromMs?: number | undefined;
	/** Recorded before this moment. */
	beforeMs?: number | undefined;
}

/** Sorting by anything but when it was recorded works within a programme only. */
export interface ConversionSort {
	by: "recorded" | "sale" | "basket";
	direction: "asc" | "desc";
}

/** Values of an index's first columns: its rows lie together there. */
type Bucket = Readonly<Record<string, string | number>>;

/** What an index sorts by before the id. */
const KEYS: Readonly<Record<ConversionSort["by"], RawBuilder<unknown> | null>> = {
	recorded: null,
	sale: sql.raw("occurred_at_ms"),
	basket: sql.raw(BASKET_MINOR),
};

/** More than any basket: see domain/money. */
export const MOST_MINOR = 10 ** 17;

/**
 * Ids are given in the order of time, but for what processes with their own clocks do at the same moment: within
 * this much of a border rows are looked at one by one.
 */
const CLOCK_SLACK_MS = MINUTE_MS;

/**
 * A list in the order of recording is the merge of its buckets (status, event type, test or not). Of all programmes:
 * along conversions_by_status. Of one: conversions_by_bucket, or conversions_by_programme.
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

/** Between two positions, both left out. */
export interface Stretch {
	low: Cursor;
	high: Cursor;
	/** Besides: the condition on the time itself. */
	exactly?: RawBuilder<unknown>;
}

/** The first positions of the stretch in each bucket, one bucket after the other. */
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

/** The first of all that was found, in the order that is asked for. */
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
 * The positions at one end of a bucket, as a stretch of its index, said twice. PostgreSQL reads the comparison of whole
 * rows: with `=` it would be free to walk the newest rows of everybody in the hope of meeting this bucket's soon, and for
 * a large shop that has stopped selling that is the whole table. SQLite, which does not see the key in such a
 * comparison, reads the columns one by one. Wrapped, because SQLite takes a limit inside a union only so.
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
 * Moments become positions among the ids, so that no index has to know about time. Rows that come later have higher
 * ids than any border found: a listing that goes down may keep its stretch.
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
