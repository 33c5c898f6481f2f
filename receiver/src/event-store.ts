// Stores events before they are acknowledged, each once (contract section 4.3, rules 4 and 5).

import type { PostbackEvent } from "./event.ts";

/** `stored` means that the event was new and is now safe; `seen` means that it had been stored before. */
export type StoreResult = "stored" | "seen";

/**
 * Stores the event unless its pair of conversionId and event is already there, in one atomic step. Of two
 * concurrent calls with the same pair only one may get `stored`. Throws if it cannot store; the service then
 * retries.
 */
export type StoreEvent = (event: PostbackEvent) => StoreResult | Promise<StoreResult>;

export type MemoryStoreOptions = {
	/** Maximum number of pairs. When it is reached, the oldest is forgotten. Default: 100,000. */
	readonly capacity?: number | undefined;
};

// Events are retried for at most a day and a half. The default needs about 30 MB, enough to recognize all
// repeats of a busy shop's day.
const defaultCapacity = 100_000;

/**
 * Forgets everything when the process ends. It is meant for trials, and for work that may be repeated without
 * harm.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): StoreEvent {
	const { capacity = defaultCapacity } = options;
	const keys = new Set<string>();
	return (event) => {
		// JSON is used, because two different pairs could be equal when joined with any single character.
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
