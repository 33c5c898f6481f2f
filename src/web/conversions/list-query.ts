// The filters of the list as they stand in its address.

import * as z from "zod";
import { EVENT_TYPES, STATUSES } from "../../domain/conversion.ts";
import { dayEndMs, dayStartMs, isTimeZone } from "../../domain/zone-day.ts";
import type { ConversionFilter } from "../../store/conversion-list.ts";
import { orderStartFilter, type ReadFilters, readFilters, writeFilters } from "../filter-query.ts";

const DAY = z.iso.date({ error: "Enter a day such as 2026-03-01." }).optional();

const QUERY = z.object({
	status: z.enum(STATUSES, { error: "There is no such status. Choose one." }).optional(),
	eventType: z.enum(EVENT_TYPES, { error: "There is no such event type. Choose one." }).optional(),
	test: z.enum(["yes", "no"], { error: "Choose one of these." }).optional(),
	from: DAY,
	to: DAY,
	/** Whose days they are. One that is not known here is UTC, as the fields then say. */
	zone: z.string().refine(isTimeZone).optional().catch(undefined),
	orderId: orderStartFilter().optional(),
	/** Where a page went on. One that no list of ours wrote begins at the beginning. */
	cursor: z.string().optional(),
});

export type ListQuery = z.output<typeof QUERY>;

export function parseListQuery(search: string): ReadFilters<ListQuery> {
	return readFilters(QUERY, search);
}

/** The last day is included. */
export function toConversionFilter(programmeId: number, query: ListQuery): ConversionFilter {
	const { from, to, zone = "UTC" } = query;
	return {
		programmeId,
		status: query.status,
		eventType: query.eventType,
		isTest: query.test === undefined ? undefined : query.test === "yes",
		fromMs: from === undefined ? undefined : dayStartMs(from, zone),
		beforeMs: to === undefined ? undefined : dayEndMs(to, zone),
		orderStart: query.orderId,
	};
}

export function writeListQuery(query: ListQuery, change: Partial<ListQuery> = {}): string {
	const { zone, ...rest } = { ...query, ...change };
	const hasDays = rest.from !== undefined || rest.to !== undefined;
	return writeFilters(hasDays ? { ...rest, zone } : rest);
}

export function isFiltered({ cursor: _, zone: __, ...filters }: ListQuery): boolean {
	return Object.values(filters).some((value) => value !== undefined);
}
