// Reads one page of a list. A list is read in the order of an index, and a page reads a limited number of rows. So a
// page costs the same among a thousand rows and among a million.

import type { Cursor } from "../../domain/cursor.ts";

export interface ListPage<Row> {
	rows: readonly Row[];
	/** Position after which the next page begins, or null at the end of the list. */
	next: Cursor | null;
	/** True if the page ended because it had read the maximum number of rows. More rows may follow. */
	isPartial: boolean;
}

/** Position and size of a page. */
export interface PageRequest {
	/** `next` of the previous page. Omitted for the first page. */
	after?: Cursor | undefined;
	/** Maximum number of rows on the page. */
	limit: number;
}

export interface ListWalk<Row> {
	/** Returns the rows after a position in the order of the list, and the position to continue from, or null at the end. */
	read(after: Cursor | undefined, limit: number): Promise<{ rows: readonly Row[]; next: Cursor | null }>;
	/** Checks the filters that the index does not contain. Omitted if every row belongs to the list. */
	matches?: ((row: Row) => boolean) | undefined;
	cursorOf(row: Row): Cursor;
}

/** Maximum number of rows that a page reads, which takes some milliseconds even if none of them matches. */
const MAX_LOOKED_AT = 2_000;
/** Number of rows in the first batch. Each later batch has twice as many, because few of the rows match. */
const FIRST_BATCH_ROWS = 250;

export async function readListPage<Row>(
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

/** Reads a page of a list that is sorted by id. `read` returns rows with an id below `beforeId`, the newest first. */
export function readNewestFirst<Row extends { id: number }>(
	page: PageRequest,
	read: (beforeId: number, limit: number) => Promise<readonly Row[]>,
	matches?: (row: Row) => boolean,
): Promise<ListPage<Row>> {
	return readListPage(walkDown(read, matches), page);
}

export function walkDown<Row extends { id: number }>(
	read: (beforeId: number, limit: number) => Promise<readonly Row[]>,
	matches?: (row: Row) => boolean,
): ListWalk<Row> {
	return walkOf(
		(after, limit) => read(endId(after), limit),
		({ id }) => ({ at: id, id }),
		matches,
	);
}

/** Creates a walk from a function that reads rows. The walk ends when it gets fewer rows than it asked for. */
export function walkOf<Row>(
	readRows: (after: Cursor | undefined, limit: number) => Promise<readonly Row[]>,
	cursorOf: (row: Row) => Cursor,
	matches?: (row: Row) => boolean,
): ListWalk<Row> {
	return {
		async read(after, limit) {
			const rows = await readRows(after, limit);
			const last = rows.at(-1);
			return { rows, next: rows.length < limit || last === undefined ? null : cursorOf(last) };
		},
		matches,
		cursorOf,
	};
}

/** Returns the id below which a list with the newest rows first continues. */
export function endId(last: { id: number } | undefined): number {
	return last?.id ?? Number.MAX_SAFE_INTEGER;
}
