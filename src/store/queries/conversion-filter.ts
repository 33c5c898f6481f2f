// What a list of conversions is asked for, and whether a row is one of it.

import { hasOrder, type OrderSearch } from "../../domain/order-search.ts";
import type { BucketFilter, Direction, TimeFilter } from "./conversion-buckets.ts";
import type { Conversion } from "./conversions.ts";

/** Everything may be left out. */
export interface ConversionFilter extends BucketFilter, TimeFilter {
	/** The whole order id: of one programme there are as many as event types, at most. */
	orderId?: string | undefined;
	/** What somebody typed to find an order. */
	search?: OrderSearch | undefined;
	/** Sold at this moment or later, and before that one. Within a programme only. */
	soldFromMs?: number | undefined;
	soldBeforeMs?: number | undefined;
}

/** Sorting by anything but when it was recorded works within a programme only. */
export interface ConversionSort {
	by: "recorded" | "sale" | "basket";
	direction: Direction;
}

export const NEWEST_FIRST: ConversionSort = { by: "recorded", direction: "desc" };

/** What a filter looks at, and what is added up and sorted by. */
export const MATCHED_COLUMNS = [
	"id",
	"public_id",
	"order_id",
	"event_type",
	"status",
	"test",
	"basket_value",
	"commission",
	"currency",
	"occurred_at_ms",
	"created_at_ms",
] as const;

export type MatchedConversion = Pick<Conversion, (typeof MATCHED_COLUMNS)[number]>;

export type Matcher = (conversion: MatchedConversion) => boolean;

/** Undefined when no filter is set. `known` are those that every row matches that is read. */
export function matcherOf(
	filter: ConversionFilter,
	known: readonly (keyof ConversionFilter)[] = [],
): Matcher | undefined {
	const set = Object.entries(CHECKS).flatMap(([name, check]) =>
		known.some((one) => one === name) ? [] : (check(filter) ?? []),
	);
	return set.length === 0 ? undefined : (conversion) => set.every((matches) => matches(conversion));
}

type Checked = Exclude<keyof ConversionFilter, "programmeId">;

/** Of each filter: undefined when it is not set. */
const CHECKS: Readonly<Record<Checked, (filter: ConversionFilter) => Matcher | undefined>> = {
	status: ({ status }) => (status === undefined ? undefined : (row) => row.status === status),
	eventType: ({ eventType }) => (eventType === undefined ? undefined : (row) => row.event_type === eventType),
	isTest: ({ isTest }) => (isTest === undefined ? undefined : (row) => (row.test === 1) === isTest),
	fromMs: ({ fromMs }) => (fromMs === undefined ? undefined : (row) => row.created_at_ms >= fromMs),
	beforeMs: ({ beforeMs }) => (beforeMs === undefined ? undefined : (row) => row.created_at_ms < beforeMs),
	soldFromMs: ({ soldFromMs }) =>
		soldFromMs === undefined ? undefined : (row) => row.occurred_at_ms >= soldFromMs,
	soldBeforeMs: ({ soldBeforeMs }) =>
		soldBeforeMs === undefined ? undefined : (row) => row.occurred_at_ms < soldBeforeMs,
	orderId: ({ orderId }) => (orderId === undefined ? undefined : (row) => row.order_id === orderId),
	search: ({ search }) => {
		if (search === undefined) return undefined;
		if (search.kind === "conversion") return (row) => row.public_id === search.publicId;
		return (row) => hasOrder(row.order_id, search.term);
	},
};

/** Whether the buckets leave anything out. */
export function isNarrow({ status, eventType, isTest, fromMs, beforeMs }: ConversionFilter): boolean {
	return [status, eventType, isTest, fromMs, beforeMs].some((value) => value !== undefined);
}

export function hasSaleRange({ soldFromMs, soldBeforeMs }: ConversionFilter): boolean {
	return soldFromMs !== undefined || soldBeforeMs !== undefined;
}
