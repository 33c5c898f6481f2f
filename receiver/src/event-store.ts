// Stores events before they are acknowledged, each only once (contract section 4.3, rules 4 and 5).

import type { PostbackEvent } from "./event.ts";

/**
 * Result of storing an event. `stored` means that the event was new and is now safe. `seen` means that it had
 * been stored before.
 */
export type StoreResult = "stored" | "seen";

/**
 * Stores the event in one atomic step, unless an event with the same conversionId and event name is already
 * stored. If two calls with the same pair run concurrently, only one may return `stored`. The function must
 * throw if it cannot store the event. The service then sends the event again.
 */
export type StoreEvent = (event: PostbackEvent) => StoreResult | Promise<StoreResult>;

export type MemoryStoreOptions = {
	/** Maximum number of remembered events. When it is reached, the oldest is forgotten. Default: 100,000. */
	readonly capacity?: number | undefined;
};

// An event is retried for at most a day and a half. The default needs about 30 MB and is enough to recognize
// all repeats in a day of a busy shop.
const defaultCapacity = 100_000;

/**
 * Creates a store in memory, which forgets everything when the process ends. Use it for trials, or if
 * handling an event twice does no harm.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): StoreEvent {
	const { capacity = defaultCapacity } = options;
	const keys = new Set<string>();
	return (event) => {
		// The key is JSON, because joining the two texts with a separator could give the same key for different
		// pairs.
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
