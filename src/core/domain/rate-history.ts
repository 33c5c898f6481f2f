// Rates over time. A sale can be credited to a partner months after it was recorded. The partner then gets the
// commission that applied when the sale was recorded, so former rates are kept.

import type { EventType } from "./conversion.ts";
import { feeFor, findCommission, type PartnershipRates, type ProgrammeRates, type Rate } from "./rate.ts";

/** Rates and the time from which they applied. They applied until the time of the next item. */
export interface RatesSince<Rates> {
	fromMs: number;
	rates: Rates;
}

/** Rates over time, the oldest first. The list is never empty. */
export type RateHistory<Rates> = readonly RatesSince<Rates>[];

/** Rates over time of a programme, and those of one of its partnerships. The latter are null if nobody is credited. */
export interface RatesOnRecord {
	programme: RateHistory<ProgrammeRates>;
	partnership: { createdAtMs: number; history: RateHistory<PartnershipRates> } | null;
}

/**
 * Returns the rates that applied at a time. For a time before the first known rates, it returns the first known
 * rates.
 */
export function ratesAt<Rates>(history: RateHistory<Rates>, atMs: number): Rates {
	const found = history.findLast(({ fromMs }) => fromMs <= atMs) ?? history[0];
	if (found === undefined) throw new Error("there are no rates on record");
	return found.rates;
}

/** Returns the partnership's commission at a time, or its first commission if the partnership began later. */
export function commissionAt(
	{ programme, partnership }: RatesOnRecord,
	eventType: EventType,
	atMs: number,
): Rate {
	const sinceMs = Math.max(atMs, partnership?.createdAtMs ?? atMs);
	const agreedRates = partnership === null ? null : ratesAt(partnership.history, sinceMs);
	return findCommission(ratesAt(programme, sinceMs), agreedRates, eventType).rate;
}

export function feeAt({ programme }: RatesOnRecord, eventType: EventType, atMs: number): Rate {
	return feeFor(ratesAt(programme, atMs), eventType);
}

/** Period in which the rates did not change. `toMs` is null for the present rates. */
export interface RatePeriod<Rates> extends RatesSince<Rates> {
	toMs: number | null;
}

export function periodsOf<Rates>(history: RateHistory<Rates>): RatePeriod<Rates>[] {
	return history.map((one, index) => ({ ...one, toMs: history[index + 1]?.fromMs ?? null })).reverse();
}

/**
 * Joins the histories of a programme and a partnership. Each item has the rates of both that applied at the same
 * time. The oldest item comes first.
 */
export function joinHistories<First, Second>(
	first: RateHistory<First>,
	second: RateHistory<Second>,
): RateHistory<readonly [First, Second]> {
	const beginMs = Math.max(first[0]?.fromMs ?? 0, second[0]?.fromMs ?? 0);
	const times = [...first, ...second].map(({ fromMs }) => Math.max(fromMs, beginMs));
	return [...new Set(times)]
		.sort((a, b) => a - b)
		.map((fromMs) => ({ fromMs, rates: [ratesAt(first, fromMs), ratesAt(second, fromMs)] as const }));
}
