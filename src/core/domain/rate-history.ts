// Rates over time. A sale can be credited to a partner after it was recorded, also months later. Its commission is then
// the one that this partner had when the sale was recorded, so the rates of the past must stay known.

import type { EventType } from "./conversion.ts";
import { feeFor, findCommission, type PartnershipRates, type ProgrammeRates, type Rate } from "./rate.ts";

/** Rates and the time from which they applied. They applied until those of the next item. */
export interface RatesSince<Rates> {
	fromMs: number;
	rates: Rates;
}

/** Rates over time, the oldest first. There is at least one item. */
export type RateHistory<Rates> = readonly RatesSince<Rates>[];

/** Rates of a programme over time, and those of one of its partnerships, or null for nobody. */
export interface RatesOnRecord {
	programme: RateHistory<ProgrammeRates>;
	partnership: { createdAtMs: number; history: RateHistory<PartnershipRates> } | null;
}

/** Returns the rates that applied at a time. Before the first known rates, the first ones count. */
export function ratesAt<Rates>(history: RateHistory<Rates>, atMs: number): Rates {
	const found = history.findLast(({ fromMs }) => fromMs <= atMs) ?? history[0];
	if (found === undefined) throw new Error("there are no rates on record");
	return found.rates;
}

/**
 * Returns the commission that the partnership had at a time. If the partnership began later, it is the first commission
 * that the partnership had.
 */
export function commissionAt(
	{ programme, partnership }: RatesOnRecord,
	eventType: EventType,
	atMs: number,
): Rate {
	const sinceMs = Math.max(atMs, partnership?.createdAtMs ?? atMs);
	const agreedRates = partnership === null ? null : ratesAt(partnership.history, sinceMs);
	return findCommission(ratesAt(programme, sinceMs), agreedRates, eventType).rate;
}

/** Returns the rate of the network fee that the programme had at a time. */
export function feeAt({ programme }: RatesOnRecord, eventType: EventType, atMs: number): Rate {
	return feeFor(ratesAt(programme, atMs), eventType);
}

/** A time in which rates stayed the same. `toMs` is null for the present rates. */
export interface RatePeriod<Rates> extends RatesSince<Rates> {
	toMs: number | null;
}

/** Returns the periods of a history, the newest first. */
export function periodsOf<Rates>(history: RateHistory<Rates>): RatePeriod<Rates>[] {
	return history.map((one, index) => ({ ...one, toMs: history[index + 1]?.fromMs ?? null })).reverse();
}

/** Joins the rates of a programme and a partnership, so that each item says what applied together, the oldest first. */
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
