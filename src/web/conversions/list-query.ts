// The filters of the list as they stand in its address. What makes no sense there is left out: an old link still
// opens something.

import * as z from "zod";
import type { ConversionsQuery } from "../../conversions/list.ts";
import { EVENT_TYPES, STATUSES } from "../../domain/conversion.ts";
import { parseOrderId } from "../../domain/order-id.ts";

const DAY_MS = 24 * 60 * 60_000;

const DAY = z.iso.date();

const QUERY = z.object({
	status: z.enum(STATUSES).optional().catch(undefined),
	eventType: z.enum(EVENT_TYPES).optional().catch(undefined),
	test: z.enum(["yes", "no"]).optional().catch(undefined),
	from: DAY.optional().catch(undefined),
	to: DAY.optional().catch(undefined),
	orderId: z
		.string()
		.trim()
		.refine((text) => parseOrderId(text).ok)
		.optional()
		.catch(undefined),
	cursor: z
		.string()
		.regex(/^[0-9A-Za-z_]{1,64}$/)
		.optional()
		.catch(undefined),
});

export type ListQuery = z.output<typeof QUERY>;

export function parseListQuery(search: URLSearchParams | string): ListQuery {
	return QUERY.parse(Object.fromEntries(new URLSearchParams(search)));
}

/** Days are UTC days, the last one included. */
export function toConversionsQuery(query: ListQuery): ConversionsQuery {
	return {
		status: query.status,
		eventType: query.eventType,
		isTest: query.test === undefined ? undefined : query.test === "yes",
		fromMs: query.from === undefined ? undefined : Date.parse(query.from),
		beforeMs: query.to === undefined ? undefined : Date.parse(query.to) + DAY_MS,
		orderId: query.orderId,
		cursor: query.cursor,
	};
}

/** With a question mark in front, or empty. */
export function writeListQuery(query: ListQuery, change: Partial<ListQuery> = {}): string {
	const search = new URLSearchParams();
	for (const [name, value] of Object.entries({ ...query, ...change })) {
		if (value !== undefined) search.set(name, value);
	}
	const text = search.toString();
	return text === "" ? "" : `?${text}`;
}

export function isFiltered(query: ListQuery): boolean {
	return Object.entries(query).some(([name, value]) => name !== "cursor" && value !== undefined);
}
