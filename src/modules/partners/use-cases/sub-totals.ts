// Totals of a partner's sales by day and sub id. They are counted in the background, like the other totals
// (core/conversions/tally.ts), because a partner may have sold a hundred thousand times in a period.

import { type CachedCounts, type CountDeps, cacheCounts } from "#core/conversions/tally.ts";
import type { Status } from "#core/domain/conversion.ts";
import { minorUnits } from "#core/domain/money.ts";
import { dayIn } from "#core/domain/zone-day.ts";
import { readAllConversions } from "#core/store/queries/conversion-list.ts";
import type { Store } from "#core/store/store.ts";
import { findCredits } from "../store/credits.ts";

/** The values by which totals can be grouped, in the order of the list. */
export const SUB_TOTAL_KEYS = ["day", "sub1", "sub2", "sub3"] as const;
export type SubTotalKey = (typeof SUB_TOTAL_KEYS)[number];

/** Longest period of totals, in days. */
export const MAX_SUB_TOTAL_DAYS = 92;

export interface SubTotalSpan {
	partnershipIds: readonly number[];
	/** Time of the sale, from `fromMs` inclusive to `beforeMs` exclusive. */
	fromMs: number;
	beforeMs: number;
	by: readonly SubTotalKey[];
	/** Time zone of the days. */
	zone: string;
}

/** The sum of the sales of one group. Values by which the totals are not grouped are null. */
export interface SubTotal extends Record<SubTotalKey, string | null> {
	currency: string;
	status: Status;
	count: number;
	commissionMinor: bigint;
}

export interface SubTotals {
	countedAtMs: number;
	groups: readonly SubTotal[];
	/** False if there were more than `MAX_GROUPS` groups, and the count was given up. */
	isComplete: boolean;
}

export type CachedSubTotals = CachedCounts<SubTotalSpan, SubTotals>;

/** Maximum number of groups. A partner who gives every click its own sub id has as many groups as sales. */
const MAX_GROUPS = 2_000;
/** Number of sales that are read at a time. */
const BATCH_ROWS = 1_000;

export function createSubTotals(deps: CountDeps & { store: Store }): CachedSubTotals {
	return cacheCounts(deps, (span: SubTotalSpan, isStopping) => countSubTotals(deps, span, isStopping));
}

/** Adds up the sales, without tests. Returns null if the service stops. */
async function countSubTotals(
	{ store, clock }: CountDeps & { store: Store },
	{ partnershipIds, fromMs, beforeMs, by, zone }: SubTotalSpan,
	isStopping: () => boolean,
): Promise<SubTotals | null> {
	const countedAtMs = clock.nowMs();
	const groups = new Map<string, SubTotal>();
	const filter = { partnershipIds, soldFromMs: fromMs, soldBeforeMs: beforeMs, isTest: false };
	for await (const rows of readAllConversions(store.reader, filter, BATCH_ROWS)) {
		if (isStopping()) return null;
		const credits = await findCredits(
			store.reader,
			rows.map(({ id }) => id),
		);
		for (const { id, occurred_at_ms: soldAtMs, status, currency, commission } of rows) {
			const credit = credits.get(id);
			// The sale may have been credited to another partner since the batch was read.
			if (credit === undefined || !partnershipIds.includes(credit.partnership_id ?? 0)) continue;
			const values = {
				day: dayIn(soldAtMs, zone),
				sub1: credit.sub_1,
				sub2: credit.sub_2,
				sub3: credit.sub_3,
			};
			const key = JSON.stringify([...by.map((name) => values[name]), currency, status]);
			const value = (name: SubTotalKey) => (by.includes(name) ? values[name] : null);
			const group = groups.get(key) ?? {
				...{ day: value("day"), sub1: value("sub1"), sub2: value("sub2"), sub3: value("sub3") },
				...{ currency, status, count: 0, commissionMinor: 0n },
			};
			group.count++;
			group.commissionMinor += minorUnits(commission);
			groups.set(key, group);
		}
		if (groups.size > MAX_GROUPS) return { countedAtMs, groups: [...groups.values()], isComplete: false };
	}
	const sorted = [...groups].sort(([one], [other]) => (one < other ? -1 : 1));
	return { countedAtMs, groups: sorted.map(([, group]) => group), isComplete: true };
}
