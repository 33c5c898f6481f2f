// The filters of Review as they stand in its address.

import * as z from "zod";
import { STATUSES } from "../../domain/conversion.ts";
import { DAY_MS } from "../../domain/time.ts";
import { orderStartFilter, type ReadFilters, readFilters, writeFilters } from "../filter-query.ts";

/** How old a conversion may be, in words of the address. */
const AGES = {
	day: { label: "In the last 24 hours", youngerMs: DAY_MS },
	week: { label: "In the last 7 days", youngerMs: 7 * DAY_MS },
	month: { label: "In the last 30 days", youngerMs: 30 * DAY_MS },
	"over-week": { label: "More than 7 days ago", olderMs: 7 * DAY_MS },
	"over-month": { label: "More than 30 days ago", olderMs: 30 * DAY_MS },
} as const;

type Age = keyof typeof AGES;
const AGE_NAMES = ["day", "week", "month", "over-week", "over-month"] as const satisfies readonly Age[];

export const AGE_OPTIONS: readonly { value: Age; label: string }[] = AGE_NAMES.map((value) => ({
	value,
	label: AGES[value].label,
}));

const QUERY = z.object({
	programme: z
		.string()
		.regex(/^[0-9A-Za-z_]{1,64}$/, { error: "There is no such programme. Choose one." })
		.optional(),
	/** Empty means any; left out means those that can still be rejected. */
	status: z
		.union([z.enum(STATUSES), z.literal("")], { error: "There is no such status. Choose one." })
		.optional(),
	orderId: orderStartFilter().optional(),
	/** More digits than any currency needs. */
	minBasket: z
		.string()
		.trim()
		.regex(/^\d{1,15}(\.\d{1,4})?$/, { error: "Enter digits, with a point before the decimals: 1000.00." })
		.optional(),
	age: z.enum(AGE_NAMES, { error: "Choose one of these." }).optional(),
	/** Where a page went on. */
	after: z.string().optional(),
});

export type ReviewQuery = z.output<typeof QUERY>;

export function parseReviewQuery(search: string): ReadFilters<ReviewQuery> {
	return readFilters(QUERY, search, ["status"]);
}

export function recordedBetween(age: Age | undefined, nowMs: number): { fromMs?: number; beforeMs?: number } {
	if (age === undefined) return {};
	const limits = AGES[age];
	return "youngerMs" in limits ? { fromMs: nowMs - limits.youngerMs } : { beforeMs: nowMs - limits.olderMs };
}

export function writeReviewQuery(query: ReviewQuery, change: Partial<ReviewQuery> = {}): string {
	return writeFilters({ ...query, ...change });
}
