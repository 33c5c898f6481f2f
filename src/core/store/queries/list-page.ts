// Reads one page of a list. A list is read in the order of an index, and a page reads a limited number of rows, so it
// costs the same among a thousand rows and among a million.

import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { Cursor } from "../../domain/cursor.ts";
import type { Db, Schema } from "../schema/tables.ts";

export interface ListPage<Row> {
	rows: readonly Row[];
	/** Position after which the next page begins, or null at the end of the list. */
	next: Cursor | null;
	/** True if the page ended because it had read the maximum number of rows. More rows may follow. */
	isPartial: boolean;
	/**
	 * Number of rows of the whole list, or more than `MOST_COUNTED` if there are more. Undefined on later pages, if the
	 * caller did not ask for a count, or if counting would read more than the list's own index.
	 */
	count?: number | undefined;
}

/** Largest number of rows that a list counts. Counting that many entries of an index takes a millisecond or two. */
export const MOST_COUNTED = 1_000;

export interface PageRequest {
	/** Value of `next` from the previous page, or undefined for the first page. */
	after?: Cursor | undefined;
	limit: number;
	/** True if the first page must also count the rows of the list. */
	isCounted?: boolean | undefined;
}

export interface ListWalk<Row> {
	/**
	 * Returns the rows after a position in the order of the list, and the position from which to continue, or null at
	 * the end of the list.
	 */
	read(after: Cursor | undefined, limit: number): Promise<{ rows: readonly Row[]; next: Cursor | null }>;
	/** Checks the filters that the index cannot check. Omitted if every row belongs to the list. */
	matches?: ((row: Row) => boolean) | undefined;
	/**
	 * Counts the rows that `read` returns, up to the limit or a little further. Omitted if counting needs more than an
	 * index.
	 */
	count?: ((limit: number) => Promise<number>) | undefined;
	cursorOf(row: Row): Cursor;
}

/** Maximum number of rows that a page reads, which takes some milliseconds even if none of them matches. */
const MAX_LOOKED_AT = 2_000;
/** Number of rows in the first batch. Each later batch has twice as many, because few of the rows match. */
const FIRST_BATCH_ROWS = 250;

export async function readListPage<Row>(walk: ListWalk<Row>, request: PageRequest): Promise<ListPage<Row>> {
	const page = await readPage(walk, request);
	const isCounted = request.isCounted === true && request.after === undefined;
	return isCounted ? { ...page, count: await countList(walk, page) } : page;
}

/** Counts the rows of a list, using its first page if that has all of them. */
async function countList<Row>({ matches, count }: ListWalk<Row>, { rows, next }: ListPage<Row>) {
	if (next === null) return rows.length;
	// Rows that are checked one by one would have to be read to be counted.
	return matches === undefined ? count?.(MOST_COUNTED + 1) : undefined;
}

async function readPage<Row>(
	{ read, matches, cursorOf }: ListWalk<Row>,
	{ after, limit }: PageRequest,
): Promise<ListPage<Row>> {
	// One row more than the page shows is read, to find out whether there is another page.
	let batchRows = matches === undefined ? limit + 1 : FIRST_BATCH_ROWS;
	const rows: Row[] = [];
	let last = after;
	for (let looked = 0; looked < MAX_LOOKED_AT; ) {
		const batch = await read(last, batchRows);
		looked += batchRows;
		batchRows = Math.min(batchRows * 2, MAX_LOOKED_AT - looked);
		for (const row of batch.rows) {
			if (matches === undefined || matches(row)) {
				if (rows.length === limit) return { rows, next: last ?? null, isPartial: false };
				rows.push(row);
			}
			last = cursorOf(row);
		}
		if (batch.next === null) return { rows, next: null, isPartial: false };
		last = batch.next;
	}
	return { rows, next: last ?? null, isPartial: true };
}

/**
 * Yields the whole list in batches. `looked` is the number of rows that were read, including those that do not match.
 */
export async function* walkAll<Row>({ read, matches = () => true }: ListWalk<Row>, batchRows: number) {
	let after: Cursor | undefined;
	do {
		const { rows, next } = await read(after, batchRows);
		yield { rows: rows.filter(matches), looked: rows.length };
		after = next ?? undefined;
	} while (after !== undefined);
}

/** Optional functions of a list: its check of each row, and its count. */
type WalkParts<Row> = Pick<ListWalk<Row>, "matches" | "count">;

/** Reads a page of a list that is sorted by id. `read` returns rows with an id below `beforeId`, the newest first. */
export function readNewestFirst<Row extends { id: number }>(
	page: PageRequest,
	read: (beforeId: number, limit: number) => Promise<readonly Row[]>,
	parts?: WalkParts<Row>,
): Promise<ListPage<Row>> {
	const walk = walkOf(
		(after, limit) => read(endId(after), limit),
		({ id }) => ({ at: id, id }),
		parts,
	);
	return readListPage(walk, page);
}

type Rows<Tables extends keyof Schema, Row> = SelectQueryBuilder<Schema, Tables, Row>;

/**
 * Creates a walk through the rows of a query, the newest first. `id` names the column with the row's id, such as
 * "statements.id". The same query counts the rows, unless `isCountable` is false.
 */
export function walkNewest<Tables extends keyof Schema, Row extends { id: number }>(
	db: Db,
	rows: Rows<Tables, Row>,
	id: string,
	{ matches, isCountable = true }: { matches?: ListWalk<Row>["matches"]; isCountable?: boolean } = {},
): ListWalk<Row> {
	const column = sql.ref<number>(id);
	const newest = (after: Cursor | undefined, limit: number) =>
		rows.where(column, "<", endId(after)).orderBy(column, "desc").limit(limit);
	const read = async (after: Cursor | undefined, limit: number) =>
		(await newest(after, limit).execute()) as Row[];
	const count = (limit: number) => countRows(db, newest(undefined, limit));
	return walkOf(read, (row) => ({ at: row.id, id: row.id }), isCountable ? { matches, count } : { matches });
}

/** Counts the rows of a query. The query must have a limit. */
export async function countRows<Tables extends keyof Schema, Row>(
	db: Db,
	few: Rows<Tables, Row>,
): Promise<number> {
	return countFound(db, sql`${few.clearSelect().select(sql.lit(1).as("one"))}`);
}

/** Counts the rows of an SQL query. The query must have a limit. */
export async function countFound(db: Db, few: RawBuilder<unknown>): Promise<number> {
	const { rows } = await sql<{ count: number }>`select count(*) as count from (${few}) as few`.execute(db);
	return rows[0]?.count ?? 0;
}

/** Creates a walk from a function that reads rows. The walk ends when it gets fewer rows than it asked for. */
export function walkOf<Row>(
	readRows: (after: Cursor | undefined, limit: number) => Promise<readonly Row[]>,
	cursorOf: (row: Row) => Cursor,
	parts: WalkParts<Row> = {},
): ListWalk<Row> {
	return {
		...parts,
		async read(after, limit) {
			const rows = await readRows(after, limit);
			const last = rows.at(-1);
			return { rows, next: rows.length < limit || last === undefined ? null : cursorOf(last) };
		},
		cursorOf,
	};
}

/** Returns the id below which a list with the newest rows first continues. */
export function endId(last: { id: number } | undefined): number {
	return last?.id ?? Number.MAX_SAFE_INTEGER;
}
