// A programme's totals, counted beside everything else: a million conversions take two seconds to add up, which
// is too long for a page and too much for every status change to keep in step. So the page shows the last count
// and when it was made, and asks for the next. Small programmes are counted while the reader waits.

import { STATUSES, type Status } from "../domain/conversion.ts";
import type { Clock, Log } from "../ports.ts";
import { type TallyGroup, tallySlice } from "../store/conversion-tally.ts";
import type { Store } from "../store/store.ts";

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
	/** Conversions by the day they came in (days since 1970-01-01, UTC) and their status now. */
	days: ReadonlyMap<number, ReadonlyMap<Status, number>>;
}

export interface TallyLook {
	/** Null while the first count of a large programme is under way. */
	tally: Tally | null;
	/** A newer one is being made. */
	isCounting: boolean;
}

export interface Tallies {
	look(programmeId: number): Promise<TallyLook>;
}

export interface TalliesDeps {
	store: Store;
	clock: Clock;
	log: Log;
	/** Aborted when the service stops: a count under way ends after its slice. */
	stopSignal?: AbortSignal | undefined;
}

/** Three milliseconds of SQLite: others are served in between. */
const SLICE_ROWS = 2_000;
/** How long a reader waits for a fresh count; a page has 100 ms in all. */
const PATIENCE_MS = 30;
/** A count that took two seconds is good for forty: at most a twentieth of the time goes into counting. */
const REST_PER_COUNT = 20;
/** Programmes looked at lately. A tally is some kilobytes. */
const MAX_TALLIES = 500;

interface Entry {
	tally: Tally | null;
	tookMs: number;
	counting: Promise<void> | null;
}

export function createTallies(deps: TalliesDeps): Tallies {
	const { clock, log } = deps;
	const entries = new Map<number, Entry>();
	const isStopping = () => deps.stopSignal?.aborted === true;

	async function count(programmeId: number, entry: Entry): Promise<void> {
		const startedAtMs = clock.nowMs();
		try {
			const tally = await countAll(deps, programmeId, isStopping);
			if (tally !== null) entry.tally = tally;
		} catch (error) {
			log.warn(
				{ err: error, programmeId },
				"a programme's totals could not be counted; the next look tries again",
			);
		}
		entry.tookMs = clock.nowMs() - startedAtMs;
		entry.counting = null;
	}

	return {
		async look(programmeId) {
			const entry = entries.get(programmeId) ?? { tally: null, tookMs: 0, counting: null };
			remember(entries, programmeId, entry);
			const isFresh =
				entry.tally !== null && clock.nowMs() - entry.tally.countedAtMs < entry.tookMs * REST_PER_COUNT;
			if (!isFresh && !isStopping()) {
				entry.counting ??= count(programmeId, entry);
				await firstOf(clock, entry.counting, PATIENCE_MS);
			}
			return { tally: entry.tally, isCounting: entry.counting !== null };
		},
	};
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
	const days = new Map<number, Map<Status, number>>();
	const countedAtMs = clock.nowMs();
	for (let afterId = 0; !isStopping(); ) {
		const { groups, lastId } = await tallySlice(store.db, programmeId, afterId, SLICE_ROWS);
		if (lastId === null) return { countedAtMs, totals, days };
		for (const group of groups) {
			addTo(totals.get(group.status) ?? emptyTotal(), group);
			const day = days.get(group.day) ?? new Map<Status, number>();
			day.set(group.status, (day.get(group.status) ?? 0) + group.count);
			days.set(group.day, day);
		}
		afterId = lastId;
		await clock.yieldLoop();
	}
	return null;
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

/** Put last; what was not looked at for the longest time goes, unless it is being counted. */
function remember(entries: Map<number, Entry>, programmeId: number, entry: Entry): void {
	entries.delete(programmeId);
	entries.set(programmeId, entry);
	for (const [oldId, old] of entries) {
		if (entries.size <= MAX_TALLIES) return;
		if (old.counting === null && oldId !== programmeId) entries.delete(oldId);
	}
}

async function firstOf(clock: Clock, work: Promise<void>, patienceMs: number): Promise<void> {
	const { promise: patience, resolve } = Promise.withResolvers<void>();
	const cancel = clock.after(patienceMs, resolve);
	await Promise.race([work, patience]);
	cancel();
}
