// Where events are kept before they are answered for, each once (contract, 4.3, rules 4 and 5).

import type { PostbackEvent } from "./event.ts";

/** `stored`: it was new and is now safe. `seen`: it had been stored before. */
export type StoreResult = "stored" | "seen";

/**
 * Stores the event unless its pair of conversionId and event is there already, in one step: of two calls at
 * once with the same pair only one may be told `stored`. Throws when it cannot: the service then tries again.
 */
export type StoreEvent = (event: PostbackEvent) => StoreResult | Promise<StoreResult>;

export type MemoryStoreOptions = {
	/** How many pairs are kept; beyond it the oldest is forgotten. Default: 100,000. */
	readonly capacity?: number | undefined;
};

// An event is tried again for a day and a half at most: some 30 MB hold the repeats of a busy shop's day.
const defaultCapacity = 100_000;

/** Forgets everything when the process ends: for trying out, and where working twice does no harm. */
export function createMemoryStore(options: MemoryStoreOptions = {}): StoreEvent {
	const { capacity = defaultCapacity } = options;
	const keys = new Set<string>();
	return (event) => {
		// As JSON: joined with any character, two different pairs could read the same.
		const key = JSON.stringify([event.conversionId, event.event]);
		if (keys.has(key)) return "seen";
		keys.add(key);
		for (const oldest of keys) {
			if (keys.size <= capacity) break;
			keys.delete(oldest);
		}
		return "stored";
	};
}
