// The filters of the list as they stand in its address.

import * as z from "zod";
import type { ConversionsQuery } from "../../conversions/list.ts";
import { EVENT_TYPES, STATUSES } from "../../domain/conversion.ts";
import { dayEndMs, dayStartMs, isTimeZone } from "../../domain/zone-day.ts";
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
	cursor: z
		.string()
		.regex(/^[0-9A-Za-z_]{1,64}$/)
		.optional()
		.catch(undefined),
});

export type ListQuery = z.output<typeof QUERY>;

export function parseListQuery(search: string): ReadFilters<ListQuery> {
	return readFilters(QUERY, search);
}

/** The last day is included. */
export function toConversionsQuery(query: ListQuery): ConversionsQuery {
	const { from, to, zone = "UTC" } = query;
	return {
		status: query.status,
		eventType: query.eventType,
		isTest: query.test === undefined ? undefined : query.test === "yes",
		fromMs: from === undefined ? undefined : dayStartMs(from, zone),
		beforeMs: to === undefined ? undefined : dayEndMs(to, zone),
		orderId: query.orderId,
		cursor: query.cursor,
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
