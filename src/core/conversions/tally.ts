// Totals of a programme, of the network and of partners. Adding up a million conversions takes two seconds, which is too
// long for a page and too much to keep up to date with every status change. Totals are therefore counted in the background
// when somebody opens a page and the last count is old. The page shows the last count with its time. If counting is quick,
// the page waits for it.

import { sumPartnershipClicks } from "#modules/partners/store/clicks.ts";
import { type EarnedSpan, type PartnershipTotal, sumByPartnership } from "#modules/partners/store/credits.ts";
import { STATUSES, type Status } from "../domain/conversion.ts";
import type { Cursor } from "../domain/cursor.ts";
import { DAY_MS, utcDay } from "../domain/time.ts";
import { dayEndMs, dayNumberIn, dayStartMs, type OffsetPeriod, offsetPeriods } from "../domain/zone-day.ts";
import type { Clock, Log } from "../ports.ts";
import { findStretch } from "../store/queries/conversion-buckets.ts";
import {
	type SliceRequest,
	type TallyGroup,
	type TallySlice,
	tallySlice,
} from "../store/queries/conversion-tally.ts";
import { type CallbackTotals, sumCallbacks } from "../store/queries/delivery-health.ts";
import type { Store } from "../store/store.ts";

export type StatusTotal = Pick<TallyGroup, "count" | "basketMinor" | "commissionMinor" | "feeMinor">;

export interface Tally {
	countedAtMs: number;
	totals: ReadonlyMap<Status, StatusTotal>;
	/** Number of test conversions by status. The other totals do not include test conversions. */
	tests: ReadonlyMap<Status, number>;
	days: DayCounts;
}

/** Counts by day and status. A day is its number from `dayNumberIn`, in the time zone of the count. */
export type DayCounts = ReadonlyMap<number, ReadonlyMap<Status, number>>;
export type Tallies = CachedCounts<{ programmeId: number; zone: string }, Tally>;

interface TalliesDeps extends CountDeps {
	store: Store;
}

export interface CountLook<Count> {
	/** Last complete count, or null until the first count is complete. */
	count: Count | null;
	isCounting: boolean;
}

export interface CachedCounts<Key, Count> {
	look(key: Key): Promise<CountLook<Count>>;
}

export interface CountDeps {
	clock: Clock;
	log: Log;
	/** Aborted when the service stops. A count in progress then ends after its current slice. */
	stopSignal?: AbortSignal | undefined;
}

export interface NetworkTally {
	countedAtMs: number;
	/** Totals by currency and status. Statuses that do not occur are missing. */
	currencies: ReadonlyMap<string, ReadonlyMap<Status, StatusTotal>>;
	days: DayCounts;
	/** Callback attempts by day. Days without an attempt are missing. */
	callbacks: ReadonlyMap<number, CallbackTotals>;
}

/** Cached totals of the network over the last `days` days, which include today, in a time zone. */
export type NetworkTallies = CachedCounts<{ days: number; zone: string }, NetworkTally>;

export interface Earned {
	countedAtMs: number;
	totals: readonly PartnershipTotal[];
	clicks: ReadonlyMap<number, number>;
}

export type EarnedTallies = CachedCounts<EarnedSpan, Earned>;

export function createTallies(deps: TalliesDeps): Tallies {
	return cacheCounts(deps, ({ programmeId, zone }, isStopping) =>
		countProgramme(deps, programmeId, zone, isStopping),
	);
}

export function createNetworkTallies(deps: TalliesDeps): NetworkTallies {
	return cacheCounts(deps, ({ days, zone }, isStopping) => countNetwork(deps, days, zone, isStopping));
}

export function createEarnedTallies(deps: TalliesDeps): EarnedTallies {
	const { store, clock } = deps;
	return cacheCounts(deps, async (span: EarnedSpan, isStopping): Promise<Earned | null> => {
		const countedAtMs = clock.nowMs();
		const clicks = await sumPartnershipClicks(store.reader, span);
		const totals = await sumByPartnership(store.reader, countedAtMs, span, isStopping);
		return isStopping() ? null : { countedAtMs, totals, clicks };
	});
}

/**
 * Number of rows per statement, which takes three milliseconds on SQLite. Requests for web pages can run
 * between two statements.
 */
const SLICE_ROWS = 2_000;

/** Yields the sums of one slice after the other. Ends early if the service stops. */
async function* readSlices(
	{ store }: TalliesDeps,
	{ after: start, ...request }: Pick<SliceRequest, "programmeId" | "after" | "offsets">,
	isStopping: () => boolean,
): AsyncGenerator<TallySlice> {
	for (let after: Cursor | null = start; after !== null && !isStopping(); ) {
		const slice: TallySlice = await tallySlice(store.reader, { ...request, after, limit: SLICE_ROWS });
		yield slice;
		after = slice.last;
	}
}

/**
 * Counts the conversions of a programme. Returns null if the service stops. A conversion that changes its status
 * meanwhile is counted with the old or the new status. If its time of sale changes meanwhile, because the shop's server
 * reports a sale after a pixel did, it may be counted twice or not at all until the next count. The same is true of a
 * conversion that expired and is recorded again, which gets a new id.
 */
async function countProgramme(
	deps: TalliesDeps,
	programmeId: number,
	zone: string,
	isStopping: () => boolean,
): Promise<Tally | null> {
	const totals = new Map(STATUSES.map((status) => [status, emptyTotal()]));
	const tests = new Map<Status, number>();
	const days = new Map<number, Map<Status, number>>();
	const countedAtMs = deps.clock.nowMs();
	const offsets = offsetsUntil(countedAtMs, zone);
	const request = { programmeId, offsets, after: { at: 0, id: 0 } };
	for await (const slice of readSlices(deps, request, isStopping)) {
		for (const { status, count } of slice.tests) tests.set(status, (tests.get(status) ?? 0) + count);
		for (const group of slice.groups) {
			addTo(totals.get(group.status) ?? emptyTotal(), group);
			countDay(days, group);
		}
	}
	return isStopping() ? null : { countedAtMs, totals, tests, days };
}

/**
 * Counts the conversions of all programmes that were recorded in the period, in the order of their ids. Returns null
 * if the service stops before the count is complete.
 */
async function countNetwork(
	deps: TalliesDeps,
	dayCount: number,
	zone: string,
	isStopping: () => boolean,
): Promise<NetworkTally | null> {
	const { clock, store } = deps;
	const countedAtMs = clock.nowMs();
	const firstDay = dayNumberIn(countedAtMs, zone) - dayCount + 1;
	const { low } = await findStretch(store.reader, { fromMs: dayStartMs(dayOf(firstDay), zone) });
	const offsets = offsetsUntil(countedAtMs, zone);
	const currencies = new Map<string, Map<Status, StatusTotal>>();
	const days = new Map<number, Map<Status, number>>();
	for await (const { groups } of readSlices(deps, { after: low, offsets }, isStopping)) {
		for (const group of groups) {
			// The order of ids may differ from the order of recording by up to a minute, so the first rows may be
			// from before the period. See conversion-buckets.ts.
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
		const [fromMs, beforeMs] = [dayStartMs(dayOf(day), zone), dayEndMs(dayOf(day), zone)];
		const total = await sumCallbacks(store.reader, fromMs, beforeMs);
		if (total.delivered + total.failed > 0) callbacks.set(day, total);
	}
	return isStopping() ? null : { countedAtMs, currencies, days, callbacks };
}

/** Number of days whose counts pages show. Conversions that were recorded earlier may be counted on a neighbouring day. */
const MAX_DAYS_SHOWN = 366;

/** Returns the zone's offsets from UTC over the days that pages show. */
function offsetsUntil(nowMs: number, zone: string): OffsetPeriod[] {
	return offsetPeriods(zone, nowMs - MAX_DAYS_SHOWN * DAY_MS, nowMs + DAY_MS);
}

/** Returns the date of a day by its number, such as "2026-03-01". */
export function dayOf(dayNumber: number): string {
	return utcDay(dayNumber * DAY_MS);
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
	const counts = days.get(day) ?? new Map<Status, number>();
	counts.set(status, (counts.get(status) ?? 0) + count);
	days.set(day, counts);
}

/** Time for which a page waits for a count. A page may take 100 ms in all. */
const PATIENCE_MS = 30;
/**
 * A count is reused for this many times as long as it took, so that counting uses at most about a twentieth of the
 * time.
 */
const FRESHNESS_FACTOR = 20;
/** Maximum number of cached counts. Each count takes some kilobytes. */
const MAX_CACHED = 500;
/** Maximum number of counts that run at once. If this many run, a caller gets no count yet and asks again. */
const MAX_RUNNING = 8;

interface Entry<Count> {
	count: Count | null;
	tookMs: number;
	counting: Promise<void> | null;
	/** Resolves when the count is complete, or after `PATIENCE_MS`. */
	patience: Promise<void>;
}

/**
 * Caches counts. `countAll` makes a count, and resolves to null if the service stops. Keys with the same content share a
 * count.
 */
export function cacheCounts<Key, Count extends { countedAtMs: number }>(
	{ clock, log, stopSignal }: CountDeps,
	countAll: (key: Key, isStopping: () => boolean) => Promise<Count | null>,
): CachedCounts<Key, Count> {
	const entries = new Map<string, Entry<Count>>();
	const isStopping = () => stopSignal?.aborted === true;
	let running = 0;

	async function countInto(key: Key, entry: Entry<Count>): Promise<void> {
		running++;
		const startedAtMs = clock.nowMs();
		try {
			const count = await countAll(key, isStopping);
			if (count !== null) entry.count = count;
		} catch (error) {
			log.warn({ err: error, key }, "totals could not be counted; the next request tries again");
		}
		entry.tookMs = clock.nowMs() - startedAtMs;
		entry.counting = null;
		running--;
	}

	return {
		async look(key) {
			const name = JSON.stringify(key);
			const entry = entries.get(name) ?? {
				count: null,
				tookMs: 0,
				counting: null,
				patience: Promise.resolve(),
			};
			remember(entries, name, entry);
			const isFresh =
				entry.count !== null && clock.nowMs() - entry.count.countedAtMs < entry.tookMs * FRESHNESS_FACTOR;
			if (!isFresh && !isStopping()) {
				if (entry.counting === null) {
					if (running >= MAX_RUNNING) return { count: entry.count, isCounting: true };
					entry.counting = countInto(key, entry);
					entry.patience = waitAtMost(clock, entry.counting, PATIENCE_MS);
				}
				await entry.patience;
			}
			return { count: entry.count, isCounting: entry.counting !== null };
		},
	};
}

/**
 * Marks the entry as most recently used and evicts the least recently used ones. Counts in progress are kept.
 */
function remember<Count>(entries: Map<string, Entry<Count>>, key: string, entry: Entry<Count>): void {
	entries.delete(key);
	entries.set(key, entry);
	for (const [oldKey, old] of entries) {
		if (entries.size <= MAX_CACHED) return;
		if (old.counting === null && oldKey !== key) entries.delete(oldKey);
	}
}

async function waitAtMost(clock: Clock, work: Promise<void>, patienceMs: number): Promise<void> {
	const { promise: patience, resolve } = Promise.withResolvers<void>();
	const cancel = clock.after(patienceMs, resolve);
	await Promise.race([work, patience]);
	cancel();
}
