// The filters of the page "Conversions" as they stand in its address, and what the store is asked for.

import * as z from "zod";
import { EVENT_TYPES, STATUSES } from "../../domain/conversion.ts";
import { readOrderSearch } from "../../domain/order-search.ts";
import { dayEndMs, dayStartMs, isTimeZone } from "../../domain/zone-day.ts";
import { type ConversionFilter, type ConversionSort, NEWEST_FIRST } from "../../store/conversion-filter.ts";
import { orderPartFilter, type ReadFilters, readFilters } from "../filter-query.ts";
import { withQuery } from "../paths.ts";

const DAY = z.iso.date({ error: "Enter a day such as 2026-03-01." }).optional();

/** The ways to sort, as the address names them. The newest recorded first is the one without a name. */
export const SORTS = {
	"recorded-asc": { by: "recorded", direction: "asc" },
	"sale-desc": { by: "sale", direction: "desc" },
	"sale-asc": { by: "sale", direction: "asc" },
	"basket-desc": { by: "basket", direction: "desc" },
	"basket-asc": { by: "basket", direction: "asc" },
} as const satisfies Readonly<Record<string, ConversionSort>>;

export type SortName = keyof typeof SORTS;
export const SORT_NAMES = [
	"recorded-asc",
	"sale-desc",
	"sale-asc",
	"basket-desc",
	"basket-asc",
] as const satisfies readonly SortName[];

const QUERY = z.object({
	status: z.enum(STATUSES, { error: "There is no such status. Choose one." }).optional(),
	eventType: z.enum(EVENT_TYPES, { error: "There is no such event type. Choose one." }).optional(),
	test: z.enum(["yes", "no"], { error: "Choose one of these." }).optional(),
	from: DAY,
	to: DAY,
	/** Which day is meant: that of the recording unless told. */
	dates: z.enum(["sale"], { error: "Choose one of these." }).optional(),
	/** Whose days they are. One that is not known here is UTC, as the fields then say. */
	zone: z.string().refine(isTimeZone).optional().catch(undefined),
	/** Any part of an order id, or a conversion id. */
	orderId: orderPartFilter().optional(),
	sort: z.enum(SORT_NAMES, { error: "Choose one of these." }).optional(),
	/** Where the page before ended. One that no list of ours wrote begins at the beginning. */
	cursor: z.string().optional(),
});

export type ListQuery = z.output<typeof QUERY>;

export function parseListQuery(search: string): ReadFilters<ListQuery> {
	return readFilters(QUERY, search);
}

/** The filters for an address: a time zone only with the days that it is for. */
export function addressOf({ zone, ...query }: ListQuery): Readonly<Record<string, string | undefined>> {
	return query.from === undefined && query.to === undefined ? query : { ...query, zone };
}

/** What an address brought along of the list that somebody came from, checked. */
export function listAddress(path: string, listQuery: string | undefined | null): string {
	return withQuery(path, addressOf(parseListQuery(listQuery ?? "").query));
}

export function sortOf({ sort }: ListQuery): ConversionSort {
	return sort === undefined ? NEWEST_FIRST : SORTS[sort];
}

/** The last day is included. */
export function toConversionFilter(programmeId: number, query: ListQuery): ConversionFilter {
	const { from, to, zone = "UTC" } = query;
	const fromMs = from === undefined ? undefined : dayStartMs(from, zone);
	const beforeMs = to === undefined ? undefined : dayEndMs(to, zone);
	return {
		programmeId,
		status: query.status,
		eventType: query.eventType,
		isTest: query.test === undefined ? undefined : query.test === "yes",
		...(query.dates === "sale" ? { soldFromMs: fromMs, soldBeforeMs: beforeMs } : { fromMs, beforeMs }),
		search: query.orderId === undefined ? undefined : readOrderSearch(query.orderId),
	};
}
