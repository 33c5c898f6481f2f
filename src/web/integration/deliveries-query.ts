// The filters of "Postbacks sent to your shop" as they stand in the page's address.

import * as z from "zod";
import { EVENT_NAMES } from "../../domain/event-name.ts";
import { orderIdFilter, type ReadFilters, readFilters } from "../filter-query.ts";

const QUERY = z.object({
	state: z
		.enum(["pending", "delivered", "failed", "cancelled"], { error: "There is no such state. Choose one." })
		.optional(),
	event: z.enum(EVENT_NAMES, { error: "There is no such event. Choose one." }).optional(),
	order: orderIdFilter().optional(),
	/** Where a page went on. One that no list of ours wrote begins at the beginning. */
	after: z.string().optional(),
});

export type DeliveriesQuery = z.output<typeof QUERY>;

export function parseDeliveriesQuery(search: string): ReadFilters<DeliveriesQuery> {
	return readFilters(QUERY, search);
}

export const NO_FILTERS: ReadFilters<DeliveriesQuery> = { query: {}, problems: {}, typed: {} };
