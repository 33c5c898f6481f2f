// Caches values that are read often and change rarely, for a short time. Concurrent readers share one load.
// The age of a value counts from the start of its load and uses the monotonic clock, so no reader gets a
// value that is older than allowed.

import type { Clock } from "#core/ports.ts";

interface CacheOptions {
	clock: Pick<Clock, "monotonicMs">;
	/** Age from which a value is loaded again. */
	freshForMs: number;
}

export interface KeyedCacheOptions<Key, Value> extends CacheOptions {
	/** Maximum number of cached values. If there are more values, the value that was loaded longest ago is removed. */
	maxEntries: number;
	/**
	 * Loads a value, or resolves to undefined if no value exists for this key. Missing values are not cached, because
	 * strangers could invent any number of keys and push out the values that are in use.
	 */
	load(key: Key): Promise<Value | undefined>;
}

export interface KeyedCache<Key, Value> {
	/** Returns a fresh value. Rejects if its load fails, and then the next call loads again. */
	get(key: Key): Promise<Value | undefined>;
	/** Removes all values. Calls of `get` from now on do not share a load that has already started. */
	invalidate(): void;
}

export function createKeyedCache<Key, Value>(options: KeyedCacheOptions<Key, Value>): KeyedCache<Key, Value> {
	const { clock, freshForMs, maxEntries, load } = options;
	/** The cached values in the order in which their loads started. */
	const entries = new Map<Key, { value: Promise<Value | undefined>; loadedAtMs: number }>();

	function removeOldest(): void {
		const [oldest] = entries.keys();
		if (oldest !== undefined) entries.delete(oldest);
	}

	function startLoad(key: Key, nowMs: number): Promise<Value | undefined> {
		const entry = { value: load(key), loadedAtMs: nowMs };
		entries.delete(key);
		entries.set(key, entry);
		if (entries.size > maxEntries) removeOldest();
		const remove = (): void => {
			if (entries.get(key) === entry) entries.delete(key);
		};
		// The reader handles the error of a failed load. Here the entry is only removed.
		entry.value.then((value) => (value === undefined ? remove() : undefined), remove);
		return entry.value;
	}

	return {
		get(key) {
			const nowMs = clock.monotonicMs();
			const entry = entries.get(key);
			if (entry !== undefined && nowMs - entry.loadedAtMs < freshForMs) return entry.value;
			return startLoad(key, nowMs);
		},
		invalidate: () => entries.clear(),
	};
}

export interface CachedValueOptions<Value> extends CacheOptions {
	load(): Promise<Value>;
}

export interface CachedValue<Value> {
	/**
	 * The value of the last load, however old it is, or undefined before the first load. A load that started
	 * before an invalidation is ignored, because it may have read the state before the change.
	 */
	readonly latest: Value | undefined;
	get(): Promise<Value>;
	/** Marks the value as outdated, so that the next call of `get` loads it again. */
	invalidate(): void;
}

export function createCachedValue<Value>({
	clock,
	freshForMs,
	load,
}: CachedValueOptions<Value>): CachedValue<Value> {
	let latest: Value | undefined;
	let invalidations = 0;
	const cache = createKeyedCache<"only", { value: Value }>({
		clock,
		freshForMs,
		maxEntries: 1,
		async load() {
			const before = invalidations;
			const value = await load();
			if (invalidations === before) latest = value;
			return { value };
		},
	});
	return {
		get latest() {
			return latest;
		},
		async get() {
			const loaded = await cache.get("only");
			if (loaded === undefined) throw new Error("a cached value has no value after its load");
			return loaded.value;
		},
		invalidate() {
			invalidations++;
			cache.invalidate();
		},
	};
}
