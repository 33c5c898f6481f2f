// The filters of Review as they stand in its address.

import * as z from "zod";
import { STATUSES } from "../../domain/conversion.ts";
import { DAY_MS } from "../../domain/time.ts";
import { orderPartFilter, type ReadFilters, readFilters } from "../filter-query.ts";
import { REVIEW_PATH, withQuery } from "../paths.ts";

/** How old a conversion may be, in words of the address. */
export const AGES = {
	day: { label: "In the last 24 hours", youngerMs: DAY_MS },
	week: { label: "In the last 7 days", youngerMs: 7 * DAY_MS },
	month: { label: "In the last 30 days", youngerMs: 30 * DAY_MS },
	"over-week": { label: "More than 7 days ago", olderMs: 7 * DAY_MS },
	"over-month": { label: "More than 30 days ago", olderMs: 30 * DAY_MS },
} as const;

export type Age = keyof typeof AGES;
export const AGE_NAMES = [
	"day",
	"week",
	"month",
	"over-week",
	"over-month",
] as const satisfies readonly Age[];

const QUERY = z.object({
	programme: z
		.string()
		.regex(/^[0-9A-Za-z_]{1,64}$/, { error: "There is no such programme. Choose one." })
		.optional(),
	/** Empty means any; left out means those that can still be rejected. */
	status: z
		.union([z.enum(STATUSES), z.literal("")], { error: "There is no such status. Choose one." })
		.optional(),
	orderId: orderPartFilter().optional(),
	/** More digits than any currency needs. */
	minBasket: z
		.string()
		.trim()
		// A comma before three digits may part thousands: it is not guessed at.
		.regex(/^\d{1,15}(\.\d{1,4}|,\d{1,2})?$/, {
			error: "Enter an amount without thousands separators: 1000.00 or 1000,00.",
		})
		.transform((text) => text.replace(",", "."))
		.optional(),
	age: z.enum(AGE_NAMES, { error: "Choose one of these." }).optional(),
	/** Where the page before ended. One that no list of ours wrote begins at the beginning. */
	after: z.string().optional(),
});

export type ReviewQuery = z.output<typeof QUERY>;

export function parseReviewQuery(search: string): ReadFilters<ReviewQuery> {
	return readFilters(QUERY, search, ["status"]);
}

/** What an address brought along of Review, checked. */
export function reviewAddress(search: string): string {
	return withQuery(REVIEW_PATH, parseReviewQuery(search).query);
}
