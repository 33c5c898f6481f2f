// Conversions by how their order id starts: the exact one first, then in the order of the ids, along an index: of one
// programme, or of all.

import { sql } from "kysely";
import type { ConversionListFilter } from "./conversion-list.ts";
import type { Conversion } from "./conversions.ts";
import type { Db } from "./store.ts";

/** Sorts behind everything that can follow a prefix. */
const LAST_CHARACTER = "\u{10FFFF}";

/** With filters besides, a page looks at this many orders at most and says so: no index knows every pair. */
const MAX_LOOKED_AT = 2_000;

export interface OrderSearch {
	/** Undefined: all of them. */
	programmeId: number | undefined;
	prefix: string;
	/** The last row of the page before. */
	after?: Conversion | undefined;
	limit: number;
}

export interface FoundOrders {
	rows: readonly Conversion[];
	/** The last one looked at, where there may be more. */
	last: Conversion | null;
	/** True when the page ends because enough was looked at, not because it is full. */
	isPartial: boolean;
}

export async function searchByOrder(
	db: Db,
	search: OrderSearch,
	filter: ConversionListFilter,
): Promise<FoundOrders> {
	const isFiltered = Object.values(filter).some((value) => value !== undefined);
	const maxRows = isFiltered ? Math.max(MAX_LOOKED_AT, search.limit + 1) : search.limit + 1;
	const looked = await readOrders(db, search, maxRows);
	const matching = isFiltered ? looked.filter((conversion) => passes(conversion, filter)) : looked;
	const rows = matching.slice(0, search.limit);
	if (matching.length > rows.length) return { rows, last: rows.at(-1) ?? null, isPartial: false };
	const isPartial = looked.length === maxRows;
	return { rows, last: isPartial ? (looked.at(-1) ?? null) : null, isPartial };
}

async function readOrders(db: Db, { programmeId, prefix, after }: OrderSearch, limit: number) {
	let query = db
		.selectFrom("conversions")
		.selectAll()
		.where("order_id", ">=", prefix)
		.where("order_id", "<", prefix + LAST_CHARACTER);
	// Each in the order of its own index, so that nothing has to be sorted.
	if (programmeId === undefined) {
		// As the index conversions_by_any_order says it, which is used for nothing else.
		query = query.where(sql<boolean>`id > 0`);
		if (after !== undefined) {
			query = query.where((eb) => eb(eb.refTuple("order_id", "id"), ">", eb.tuple(after.order_id, after.id)));
		}
		return query.orderBy("order_id").orderBy("id").limit(limit).execute();
	}
	query = query.where("programme_id", "=", programmeId);
	if (after !== undefined) {
		query = query.where((eb) =>
			eb(eb.refTuple("order_id", "event_type"), ">", eb.tuple(after.order_id, after.event_type)),
		);
	}
	return query.orderBy("order_id").orderBy("event_type").limit(limit).execute();
}

function passes(conversion: Conversion, filter: ConversionListFilter): boolean {
	const { status, eventType, isTest, fromMs, beforeMs } = filter;
	return (
		(status === undefined || conversion.status === status) &&
		(eventType === undefined || conversion.event_type === eventType) &&
		(isTest === undefined || (conversion.test === 1) === isTest) &&
		(fromMs === undefined || conversion.created_at_ms >= fromMs) &&
		(beforeMs === undefined || conversion.created_at_ms < beforeMs)
	);
}
