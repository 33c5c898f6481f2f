// A page of a programme's conversions: by filter, the newest first, or by order id. The export reads the same pages.

import { type ConversionListFilter, type IdBorders, listByFilter } from "../store/conversion-list.ts";
import { searchByOrder } from "../store/conversion-search.ts";
import { type Conversion, findByPublicId } from "../store/conversions.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";

export interface ConversionsQuery extends ConversionListFilter {
	/** How the order id starts. */
	orderId?: string | undefined;
	/** The public id of the last row before: row numbers would tell a shop how many others sell. */
	cursor?: string | undefined;
}

export interface ConversionsPage {
	rows: readonly Conversion[];
	/** The row behind which there may be more. */
	last: Conversion | null;
	nextCursor: string | null;
	/** True when there may be more although the page is not full. */
	isPartial: boolean;
}

/** What whoever reads page after page knows already. */
export interface Reading {
	/** Where the query's times lie. */
	borders?: IdBorders | undefined;
	/** The last row of the page before. Not looked for again: it may have been removed or moved since. */
	after?: Conversion | undefined;
}

export async function listConversionsPage(
	db: Db,
	programme: Pick<Programme, "id">,
	query: ConversionsQuery,
	limit: number,
	reading: Reading = {},
): Promise<ConversionsPage> {
	const { orderId, cursor, ...filter } = query;
	const after = reading.after ?? (await findCursor(db, programme, cursor));
	if (orderId !== undefined) {
		const search = { programmeId: programme.id, prefix: orderId, after, limit };
		const { rows, last, isPartial } = await searchByOrder(db, search, filter);
		return { rows, last, nextCursor: last?.public_id ?? null, isPartial };
	}
	const { borders } = reading;
	const place = { programmeId: programme.id, beforeId: after?.id, limit: limit + 1, borders };
	const found = await listByFilter(db, place, filter);
	const rows = found.slice(0, limit);
	const last = found.length > rows.length ? (rows.at(-1) ?? null) : null;
	return { rows, last, nextCursor: last?.public_id ?? null, isPartial: false };
}

async function findCursor(
	db: Db,
	programme: Pick<Programme, "id">,
	cursor: string | undefined,
): Promise<Conversion | undefined> {
	return cursor === undefined ? undefined : findByPublicId(db, programme.id, cursor);
}
