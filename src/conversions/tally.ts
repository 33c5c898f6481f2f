// A programme's totals: a million conversions take two seconds to add up, which is too long for a page and too much for
// every status change to keep in step. See kept-counts for when they are counted.

import { STATUSES, type Status } from "../domain/conversion.ts";
import { type TallyGroup, tallySlice } from "../store/queries/conversion-tally.ts";
import type { Store } from "../store/store.ts";
import { type CountDeps, type CountLook, type KeptCounts, keepCounts } from "./kept-counts.ts";

export interface StatusTotal {
	count: number;
	/** In minor units of the programme's currency. */
	basketMinor: bigint;
	commissionMinor: bigint;
	feeMinor: bigint;
}

export interface Tally {
	countedAtMs: number;
	totals: ReadonlyMap<Status, StatusTotal>;
	/** How many tests there are besides, of each status that some have. */
	tests: ReadonlyMap<Status, number>;
	/** Conversions by the day they came in (days since 1970-01-01, UTC) and their status now. */
	days: DayCounts;
}

export type DayCounts = ReadonlyMap<number, ReadonlyMap<Status, number>>;
export type TallyLook = CountLook<Tally>;
/** By the number of the programme. */
export type Tallies = KeptCounts<number, Tally>;

export interface TalliesDeps extends CountDeps {
	store: Store;
}

/** Three milliseconds of SQLite: others are served in between. */
export const SLICE_ROWS = 2_000;

export function createTallies(deps: TalliesDeps): Tallies {
	return keepCounts(deps, (programmeId: number, isStopping) => countAll(deps, programmeId, isStopping));
}

/**
 * Null when it was stopped. A conversion that moves meanwhile is counted before or after it. One that expired and is
 * recorded anew gets a new number, and may be counted as both until the next count.
 */
async function countAll(
	{ store, clock }: TalliesDeps,
	programmeId: number,
	isStopping: () => boolean,
): Promise<Tally | null> {
	const totals = new Map(STATUSES.map((status) => [status, emptyTotal()]));
	const tests = new Map<Status, number>();
	const days = new Map<number, Map<Status, number>>();
	const countedAtMs = clock.nowMs();
	for (let afterId = 0; !isStopping(); ) {
		const slice = await tallySlice(store.db, { programmeId, afterId, limit: SLICE_ROWS });
		const { groups, lastId } = slice;
		if (lastId === null) return { countedAtMs, totals, tests, days };
		for (const { status, count } of slice.tests) tests.set(status, (tests.get(status) ?? 0) + count);
		for (const group of groups) {
			addTo(totals.get(group.status) ?? emptyTotal(), group);
			countDay(days, group);
		}
		afterId = lastId;
		await clock.yieldLoop();
	}
	return null;
}

export function emptyTotal(): StatusTotal {
	return { count: 0, basketMinor: 0n, commissionMinor: 0n, feeMinor: 0n };
}

export function addTo(total: StatusTotal, group: TallyGroup): void {
	total.count += group.count;
	total.basketMinor += group.basketMinor;
	total.commissionMinor += group.commissionMinor;
	total.feeMinor += group.feeMinor;
}

export function countDay(days: Map<number, Map<Status, number>>, { day, status, count }: TallyGroup): void {
	const ofDay = days.get(day) ?? new Map<Status, number>();
	ofDay.set(status, (ofDay.get(status) ?? 0) + count);
	days.set(day, ofDay);
}
