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
	nextCursor: string | null;
	/** True when there may be more although the page is not full. */
	isPartial: boolean;
}

export async function listConversionsPage(
	db: Db,
	programme: Pick<Programme, "id">,
	query: ConversionsQuery,
	limit: number,
	/** Of the query's moments, where they were looked for already. */
	borders?: IdBorders,
): Promise<ConversionsPage> {
	const { orderId, cursor, ...filter } = query;
	const last = cursor === undefined ? undefined : await findByPublicId(db, programme.id, cursor);
	if (orderId !== undefined) {
		const search = { programmeId: programme.id, prefix: orderId, after: last, limit };
		const found = await searchByOrder(db, search, filter);
		return { rows: found.rows, nextCursor: found.last?.public_id ?? null, isPartial: found.isPartial };
	}
	const place = { programmeId: programme.id, beforeId: last?.id, limit: limit + 1, borders };
	const found = await listByFilter(db, place, filter);
	const rows = found.slice(0, limit);
	const hasMore = found.length > rows.length;
	return { rows, nextCursor: hasMore ? (rows.at(-1)?.public_id ?? null) : null, isPartial: false };
}
