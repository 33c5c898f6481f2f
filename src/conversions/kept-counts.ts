// Counts that take too long for a page: made beside everything else, kept, and made anew when somebody looks and the last
// one is old. A page shows the last count and when it was made. What is counted quickly, the reader waits for.

import type { Clock, Log } from "../ports.ts";

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

/** How long a reader waits for a fresh count; a page has 100 ms in all. */
const PATIENCE_MS = 30;
/** A count that took two seconds is good for forty: at most a twentieth of the time goes into counting. */
const REST_PER_COUNT = 20;
/** Looked at lately. A count is some kilobytes. */
const MAX_KEPT = 500;

interface Entry<Count> {
	count: Count | null;
	tookMs: number;
	counting: Promise<void> | null;
}

/** `countAll` resolves to null when it was stopped. */
export function keepCounts<Key, Count extends { countedAtMs: number }>(
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
			const entry = entries.get(key) ?? { count: null, tookMs: 0, counting: null };
			remember(entries, key, entry);
			const isFresh =
				entry.count !== null && clock.nowMs() - entry.count.countedAtMs < entry.tookMs * REST_PER_COUNT;
			if (!isFresh && !isStopping()) {
				entry.counting ??= countInto(key, entry);
				await firstOf(clock, entry.counting, PATIENCE_MS);
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
