// The totals of the whole network over the last days: conversions by currency and status, and how callbacks went. Only
// what was recorded in the period is read, along the primary key, a slice at a time; see kept-counts for when.

import type { Status } from "../domain/conversion.ts";
import { DAY_MS } from "../domain/time.ts";
import { type CallbackTotals, sumCallbacks } from "../store/queries/callback-hours.ts";
import { findStretch } from "../store/queries/conversion-buckets.ts";
import { tallySlice } from "../store/queries/conversion-tally.ts";
import { type KeptCounts, keepCounts } from "./kept-counts.ts";
import {
	addTo,
	countDay,
	type DayCounts,
	emptyTotal,
	SLICE_ROWS,
	type StatusTotal,
	type TalliesDeps,
} from "./tally.ts";

export interface NetworkTally {
	countedAtMs: number;
	/** By currency; only statuses that some conversion has. */
	currencies: ReadonlyMap<string, ReadonlyMap<Status, StatusTotal>>;
	days: DayCounts;
	/** Attempts by day, those without any left out. */
	callbacks: ReadonlyMap<number, CallbackTotals>;
}

/** By how many days back: today (UTC) is one. */
export type NetworkTallies = KeptCounts<number, NetworkTally>;

export function createNetworkTallies(deps: TalliesDeps): NetworkTallies {
	return keepCounts(deps, (days: number, isStopping) => countNetwork(deps, days, isStopping));
}

async function countNetwork(
	{ store, clock }: TalliesDeps,
	dayCount: number,
	isStopping: () => boolean,
): Promise<NetworkTally | null> {
	const { db } = store;
	const countedAtMs = clock.nowMs();
	const firstDay = Math.floor(countedAtMs / DAY_MS) - dayCount + 1;
	const { low } = await findStretch(db, { fromMs: firstDay * DAY_MS });
	const currencies = new Map<string, Map<Status, StatusTotal>>();
	const days = new Map<number, Map<Status, number>>();
	for (let afterId = low.id; !isStopping(); ) {
		const { groups, lastId } = await tallySlice(db, { afterId, limit: SLICE_ROWS });
		if (lastId === null) break;
		for (const group of groups) {
			// Ids follow the time of recording, but for a minute: see conversion-buckets.
			if (group.day < firstDay) continue;
			const totals = currencies.get(group.currency) ?? new Map<Status, StatusTotal>();
			const total = totals.get(group.status) ?? emptyTotal();
			addTo(total, group);
			currencies.set(group.currency, totals.set(group.status, total));
			countDay(days, group);
		}
		afterId = lastId;
		await clock.yieldLoop();
	}
	const callbacks = new Map<number, CallbackTotals>();
	for (let day = firstDay; day < firstDay + dayCount && !isStopping(); day++) {
		const total = await sumCallbacks(db, day * DAY_MS, (day + 1) * DAY_MS);
		if (total.delivered + total.failed > 0) callbacks.set(day, total);
		await clock.yieldLoop();
	}
	return isStopping() ? null : { countedAtMs, currencies, days, callbacks };
}
