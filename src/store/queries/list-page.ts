// One page of a list. Every list walks an index and looks at a bounded number of rows, so that a page costs the same
// among a thousand rows and a million.

import type { Cursor } from "../../domain/cursor.ts";

export interface ListPage<Row> {
	rows: readonly Row[];
	/** Where the next page goes on; null at the end. */
	next: Cursor | null;
	/** True when the page ends because enough rows were looked at, not because it is full: there may be more. */
	isPartial: boolean;
}

/** Which page of a list. */
export interface PageRequest {
	/** `next` of the page before; left out for the first page. */
	after?: Cursor | undefined;
	/** Rows on a page. */
	limit: number;
}

export interface ListWalk<Row> {
	/** The rows behind `last`, in the list's order; behind `after` of the request while there is no `last`. */
	read(last: Row | undefined, limit: number): Promise<readonly Row[]>;
	/** Filters that the index does not know. Left out when every row that is read belongs to the list. */
	matches?: ((row: Row) => boolean) | undefined;
	cursorOf(row: Row): Cursor;
}

/** Rows that one page looks at: some milliseconds, also when the filter leaves none of them. */
const MAX_LOOKED_AT = 2_000;
const BATCH_ROWS = 250;

export async function readListPage<Row>(
	{ read, matches, cursorOf }: ListWalk<Row>,
	limit: number,
): Promise<ListPage<Row>> {
	// One row more than the page shows tells whether there is a next page.
	const batchRows = matches === undefined ? limit + 1 : BATCH_ROWS;
	const rows: Row[] = [];
	let last: Row | undefined;
	const next = () => (last === undefined ? null : cursorOf(last));
	for (let looked = 0; looked < MAX_LOOKED_AT; looked += batchRows) {
		const batch = await read(last, batchRows);
		for (const row of batch) {
			if (matches === undefined || matches(row)) {
				if (rows.length === limit) return { rows, next: next(), isPartial: false };
				rows.push(row);
			}
			last = row;
		}
		if (batch.length < batchRows) return { rows, next: null, isPartial: false };
	}
	return { rows, next: next(), isPartial: true };
}

/** A list that is sorted by the id alone. `read` gives rows with a smaller id than `beforeId`, the newest first. */
export function readNewestFirst<Row extends { id: number }>(
	{ after, limit }: PageRequest,
	read: (beforeId: number, limit: number) => Promise<readonly Row[]>,
	matches?: (row: Row) => boolean,
): Promise<ListPage<Row>> {
	const readBehind = (last: Row | undefined, rows: number) => read(endId(last ?? after), rows);
	return readListPage({ read: readBehind, matches, cursorOf: cursorById }, limit);
}

export function cursorById({ id }: { id: number }): Cursor {
	return { at: id, id };
}

/** Where the newest first are listed, only rows with a smaller id come behind this one. */
export function endId(last: { id: number } | undefined): number {
	return last?.id ?? Number.MAX_SAFE_INTEGER;
}
