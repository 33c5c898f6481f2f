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
	/** The rows behind `after`, in the list's order, and where those behind them begin: null at the end. */
	read(after: Cursor | undefined, limit: number): Promise<{ rows: readonly Row[]; next: Cursor | null }>;
	/** Filters that the index does not know. Left out when every row that is read belongs to the list. */
	matches?: ((row: Row) => boolean) | undefined;
	cursorOf(row: Row): Cursor;
}

/** Rows that one page looks at: some milliseconds, also when the filter leaves none of them. */
const MAX_LOOKED_AT = 2_000;
const BATCH_ROWS = 250;

export async function readListPage<Row>(
	{ read, matches, cursorOf }: ListWalk<Row>,
	{ after, limit }: PageRequest,
): Promise<ListPage<Row>> {
	// One row more than the page shows tells whether there is a next page.
	const batchRows = matches === undefined ? limit + 1 : BATCH_ROWS;
	const rows: Row[] = [];
	let last = after;
	for (let looked = 0; looked < MAX_LOOKED_AT; looked += batchRows) {
		const batch = await read(last, batchRows);
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

/** The whole list, some rows at a time; `looked` counts those that do not match, too. */
export async function* walkAll<Row>({ read, matches = () => true }: ListWalk<Row>, batchRows: number) {
	let after: Cursor | undefined;
	do {
		const { rows, next } = await read(after, batchRows);
		yield { rows: rows.filter(matches), looked: rows.length };
		after = next ?? undefined;
	} while (after !== undefined);
}

/** A list that is sorted by the id alone. `read` gives rows with a smaller id than `beforeId`, the newest first. */
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

/** A walk that ends where fewer rows are read than were asked for. */
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

/** Where the newest first are listed, only rows with a smaller id come behind this one. */
export function endId(last: { id: number } | undefined): number {
	return last?.id ?? Number.MAX_SAFE_INTEGER;
}
