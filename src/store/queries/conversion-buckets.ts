// The conversions of a filtered list in the order in which they were recorded. It is the merge of its buckets (status,
// event type, test or not), each read along one index: a page costs the same among a thousand rows and a million.

import { type RawBuilder, sql } from "kysely";
import { EVENT_TYPES, type EventType, STATUSES, type Status } from "../../domain/conversion.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import type { Db } from "../store.ts";

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

/** Values of an index's first columns: its rows lie together there, in the order of their ids. */
export type Bucket = Readonly<Record<string, string | number>>;

/** Ids from `firstId` up to, not including, `endId`; `exactly` is the condition on the time itself. */
export interface IdRange {
	firstId: number;
	endId: number;
	exactly: RawBuilder<unknown>;
}

/**
 * Ids are given in the order of time, but for what processes with their own clocks do at the same moment: within
 * this much of a border rows are looked at one by one.
 */
const CLOCK_SLACK_MS = MINUTE_MS;

/** Of all programmes: along conversions_by_status. Of one: conversions_by_bucket, or conversions_by_programme. */
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

export type Direction = "asc" | "desc";

/** The newest first, or the oldest. */
export async function readIds(
	db: Db,
	buckets: readonly Bucket[],
	range: IdRange,
	{ direction, limit }: { direction: Direction; limit: number },
): Promise<number[]> {
	const way = sql.raw(direction);
	const parts = buckets.map((bucket, index) => readBucket(bucket, range, way, limit, index));
	const merged = sql<{ id: number }>`${sql.join(parts, sql` union all `)} order by id ${way} limit ${limit}`;
	return (await merged.execute(db)).rows.map(({ id }) => id);
}

/**
 * The ids at one end of a bucket, as a stretch of its index, said twice. PostgreSQL reads the comparison of whole rows:
 * with `=` it would be free to walk the newest rows of everybody in the hope of meeting this bucket's soon, and for
 * a large shop that has stopped selling that is the whole table. SQLite, which does not see the id in such a
 * comparison, reads the columns one by one. Wrapped, because SQLite takes a limit inside a union only so.
 */
function readBucket(
	bucket: Bucket,
	range: IdRange,
	way: RawBuilder<unknown>,
	limit: number,
	index: number,
): RawBuilder<unknown> {
	const columns = [...Object.keys(bucket), "id"].map((name) => sql.ref(name));
	const row = (id: number) => sql`(${sql.join([...Object.values(bucket), id])})`;
	const order = columns.map((column) => sql`${column} ${way}`);
	const oneByOne = [
		...Object.entries(bucket).map(([name, value]) => sql`${sql.ref(name)} is not distinct from ${value}`),
		sql`id >= ${range.firstId} and id < ${range.endId}`,
	];
	return sql`select id from (select id from conversions
		where (${sql.join(columns)}) >= ${row(range.firstId)} and (${sql.join(columns)}) < ${row(range.endId)}
			and ${sql.join(oneByOne, sql` and `)} ${range.exactly}
		order by ${sql.join(order)} limit ${limit}) as ${sql.id(`bucket_${index}`)}`;
}

/**
 * Moments become positions among the ids, so that no index has to know about time. Rows that come later have higher
 * ids than any border found: a listing that goes down may keep its range.
 */
export async function findIdRange(db: Db, { fromMs, beforeMs }: TimeFilter): Promise<IdRange> {
	const from = fromMs === undefined ? sql`` : sql` and created_at_ms >= ${fromMs}`;
	const before = beforeMs === undefined ? sql`` : sql` and created_at_ms < ${beforeMs}`;
	return {
		firstId: fromMs === undefined ? 0 : await firstIdRecordedAt(db, fromMs - CLOCK_SLACK_MS),
		endId:
			beforeMs === undefined
				? Number.MAX_SAFE_INTEGER
				: await firstIdRecordedAt(db, beforeMs + CLOCK_SLACK_MS),
		exactly: sql`${from}${before}`,
	};
}

/** By halving: some twenty looks at the primary key for a million rows. */
async function firstIdRecordedAt(db: Db, atMs: number): Promise<number> {
	let low = (await outermostId(db, "asc")) ?? 0;
	let high = ((await outermostId(db, "desc")) ?? 0) + 1;
	while (low < high) {
		const middle = Math.floor((low + high) / 2);
		const row = await db
			.selectFrom("conversions")
			.select(["id", "created_at_ms"])
			.where("id", ">=", middle)
			.orderBy("id")
			.limit(1)
			.executeTakeFirst();
		if (row === undefined || row.id >= high || row.created_at_ms >= atMs) high = middle;
		else low = row.id + 1;
	}
	return low;
}

/** The first id, or the last. One at a time: asked for both, SQLite reads the whole table. */
async function outermostId(db: Db, direction: Direction): Promise<number | undefined> {
	const row = await db
		.selectFrom("conversions")
		.select("id")
		.where("id", ">", 0)
		.orderBy("id", direction)
		.limit(1)
		.executeTakeFirst();
	return row?.id;
}
