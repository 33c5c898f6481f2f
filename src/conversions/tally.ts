// A programme's totals: a million conversions take two seconds to add up, which is too long for a page and too much for
// every status change to keep in step. So they are made beside everything else, kept, and made anew when somebody looks
// and the last count is old. A page shows the last count and when it was made; what is counted quickly, the reader waits
// for. The network's totals over the last days are made the same way, and what partners earned.

import { STATUSES, type Status } from "../domain/conversion.ts";
import { DAY_MS } from "../domain/time.ts";
import type { Clock, Log } from "../ports.ts";
import { sumPartnershipClicks } from "../store/queries/clicks.ts";
import { findStretch } from "../store/queries/conversion-buckets.ts";
import { type TallyGroup, type TallySlice, tallySlice } from "../store/queries/conversion-tally.ts";
import { type EarnedSpan, type PartnershipTotal, sumByPartnership } from "../store/queries/credits.ts";
import { type CallbackTotals, sumCallbacks } from "../store/queries/delivery-health.ts";
import type { Store } from "../store/store.ts";

export type StatusTotal = Pick<TallyGroup, "count" | "basketMinor" | "commissionMinor" | "feeMinor">;

export interface Tally {
	countedAtMs: number;
	totals: ReadonlyMap<Status, StatusTotal>;
	/** How many tests there are besides, of each status that some have. */
	tests: ReadonlyMap<Status, number>;
	/** Conversions by the day they came in (days since 1970-01-01, UTC) and their status now. */
	days: DayCounts;
}

export type DayCounts = ReadonlyMap<number, ReadonlyMap<Status, number>>;
/** By the number of the programme. */
export type Tallies = KeptCounts<number, Tally>;

interface TalliesDeps extends CountDeps {
	store: Store;
}

export interface CountLook<Count> {
	/** Null while the first one is under way. */
	count: Count | null;
	/** A newer one is being made. */
	isCounting: boolean;
}

export interface KeptCounts<Key, Count> {
	look(key: Key): Promise<CountLook<Count>>;
}

export interface CountDeps {
	clock: Clock;
	log: Log;
	/** Aborted when the service stops: a count under way ends after its slice. */
	stopSignal?: AbortSignal | undefined;
}

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

export interface Earned {
	countedAtMs: number;
	totals: readonly PartnershipTotal[];
	/** By partnership. */
	clicks: ReadonlyMap<number, number>;
}

export type EarnedTallies = KeptCounts<EarnedSpan, Earned>;

export function createTallies(deps: TalliesDeps): Tallies {
	return keepCounts(deps, (programmeId: number, isStopping) => countProgramme(deps, programmeId, isStopping));
}

export function createNetworkTallies(deps: TalliesDeps): NetworkTallies {
	return keepCounts(deps, (days: number, isStopping) => countNetwork(deps, days, isStopping));
}

export function createEarnedTallies(deps: TalliesDeps): EarnedTallies {
	const { db } = deps.store;
	const count = async (key: string, isStopping: () => boolean): Promise<Earned | null> => {
		const span: EarnedSpan = JSON.parse(key);
		const countedAtMs = deps.clock.nowMs();
		const clicks = await sumPartnershipClicks(db, span);
		const totals = await sumByPartnership(db, deps.clock, span, isStopping);
		return isStopping() ? null : { countedAtMs, totals, clicks };
	};
	// One at a time: readers choose the days, and signed reports need the database, too.
	let last: Promise<unknown> = Promise.resolve();
	const kept = keepCounts(deps, (key: string, isStopping) => {
		const counted = last.then(() => count(key, isStopping));
		last = counted.catch(() => undefined);
		return counted;
	});
	return { look: (span) => kept.look(JSON.stringify(span)) };
}

/** Three milliseconds of SQLite: others are served in between. */
const SLICE_ROWS = 2_000;

/** Ends early when it is stopped. */
async function* readSlices(
	{ store, clock }: TalliesDeps,
	{ programmeId, afterId: firstAfterId }: { programmeId?: number; afterId: number },
	isStopping: () => boolean,
): AsyncGenerator<TallySlice> {
	for (let afterId = firstAfterId; !isStopping(); ) {
		const slice = await tallySlice(store.db, { programmeId, afterId, limit: SLICE_ROWS });
		if (slice.lastId === null) return;
		yield slice;
		afterId = slice.lastId;
		await clock.yieldLoop();
	}
}

/**
 * Null when it was stopped. A conversion that moves meanwhile is counted before or after it. One that expired and is
 * recorded anew gets a new number, and may be counted as both until the next count.
 */
async function countProgramme(
	deps: TalliesDeps,
	programmeId: number,
	isStopping: () => boolean,
): Promise<Tally | null> {
	const totals = new Map(STATUSES.map((status) => [status, emptyTotal()]));
	const tests = new Map<Status, number>();
	const days = new Map<number, Map<Status, number>>();
	const countedAtMs = deps.clock.nowMs();
	for await (const slice of readSlices(deps, { programmeId, afterId: 0 }, isStopping)) {
		for (const { status, count } of slice.tests) tests.set(status, (tests.get(status) ?? 0) + count);
		for (const group of slice.groups) {
			addTo(totals.get(group.status) ?? emptyTotal(), group);
			countDay(days, group);
		}
	}
	return isStopping() ? null : { countedAtMs, totals, tests, days };
}

/** Only what was recorded in the period is read, along the primary key. Null when it was stopped. */
async function countNetwork(
	deps: TalliesDeps,
	dayCount: number,
	isStopping: () => boolean,
): Promise<NetworkTally | null> {
	const { clock, store } = deps;
	const countedAtMs = clock.nowMs();
	const firstDay = Math.floor(countedAtMs / DAY_MS) - dayCount + 1;
	const { low } = await findStretch(store.db, { fromMs: firstDay * DAY_MS });
	const currencies = new Map<string, Map<Status, StatusTotal>>();
	const days = new Map<number, Map<Status, number>>();
	for await (const { groups } of readSlices(deps, { afterId: low.id }, isStopping)) {
		for (const group of groups) {
			// Ids follow the time of recording, but for a minute: see conversion-buckets.
			if (group.day < firstDay) continue;
			const totals = currencies.get(group.currency) ?? new Map<Status, StatusTotal>();
			const total = totals.get(group.status) ?? emptyTotal();
			addTo(total, group);
			currencies.set(group.currency, totals.set(group.status, total));
			countDay(days, group);
		}
	}
	const callbacks = new Map<number, CallbackTotals>();
	for (let day = firstDay; day < firstDay + dayCount && !isStopping(); day++) {
		const total = await sumCallbacks(store.db, day * DAY_MS, (day + 1) * DAY_MS);
		if (total.delivered + total.failed > 0) callbacks.set(day, total);
		await clock.yieldLoop();
	}
	return isStopping() ? null : { countedAtMs, currencies, days, callbacks };
}

function emptyTotal(): StatusTotal {
	return { count: 0, basketMinor: 0n, commissionMinor: 0n, feeMinor: 0n };
}

function addTo(total: StatusTotal, group: TallyGroup): void {
	total.count += group.count;
	total.basketMinor += group.basketMinor;
	total.commissionMinor += group.commissionMinor;
	total.feeMinor += group.feeMinor;
}

function countDay(days: Map<number, Map<Status, number>>, { day, status, count }: TallyGroup): void {
	const ofDay = days.get(day) ?? new Map<Status, number>();
	ofDay.set(status, (ofDay.get(status) ?? 0) + count);
	days.set(day, ofDay);
}

/** So long after a count has begun readers wait for it; a page has 100 ms in all. */
const PATIENCE_MS = 30;
/** A count that took two seconds is good for forty: at most a twentieth of the time goes into counting. */
const REST_PER_COUNT = 20;
/** Looked at lately. A count is some kilobytes. */
const MAX_KEPT = 500;

interface Entry<Count> {
	count: Count | null;
	tookMs: number;
	counting: Promise<void> | null;
	/** Ends with the count, or when it takes longer than a reader waits. */
	patience: Promise<void>;
}

/** `countAll` resolves to null when it was stopped. */
function keepCounts<Key, Count extends { countedAtMs: number }>(
	{ clock, log, stopSignal }: CountDeps,
	countAll: (key: Key, isStopping: () => boolean) => Promise<Count | null>,
): KeptCounts<Key, Count> {
	const entries = new Map<Key, Entry<Count>>();
	const isStopping = () => stopSignal?.aborted === true;

	async function countInto(key: Key, entry: Entry<Count>): Promise<void> {
		const startedAtMs = clock.nowMs();
		try {
			const count = await countAll(key, isStopping);
			if (count !== null) entry.count = count;
		} catch (error) {
			log.warn({ err: error, key }, "totals could not be counted; the next look tries again");
		}
		entry.tookMs = clock.nowMs() - startedAtMs;
		entry.counting = null;
	}

	return {
		async look(key) {
			const entry = entries.get(key) ?? {
				count: null,
				tookMs: 0,
				counting: null,
				patience: Promise.resolve(),
			};
			remember(entries, key, entry);
			const isFresh =
				entry.count !== null && clock.nowMs() - entry.count.countedAtMs < entry.tookMs * REST_PER_COUNT;
			if (!isFresh && !isStopping()) {
				if (entry.counting === null) {
					entry.counting = countInto(key, entry);
					entry.patience = firstOf(clock, entry.counting, PATIENCE_MS);
				}
				await entry.patience;
			}
			return { count: entry.count, isCounting: entry.counting !== null };
		},
	};
}

/** Put last; what was not looked at for the longest time goes, unless it is being counted. */
function remember<Key, Count>(entries: Map<Key, Entry<Count>>, key: Key, entry: Entry<Count>): void {
	entries.delete(key);
	entries.set(key, entry);
	for (const [oldKey, old] of entries) {
		if (entries.size <= MAX_KEPT) return;
		if (old.counting === null && oldKey !== key) entries.delete(oldKey);
	}
}

async function firstOf(clock: Clock, work: Promise<void>, patienceMs: number): Promise<void> {
	const { promise: patience, resolve } = Promise.withResolvers<void>();
	const cancel = clock.after(patienceMs, resolve);
	await Promise.race([work, patience]);
	cancel();
}
