// Measures how long shops waited for their callbacks while processes started and stopped.

export type Waits = ReturnType<typeof createWaits>;

export function createWaits(nowMs: () => number) {
	const owedAtMs = new Map<string, number>();
	const arrivedAtMs = new Map<string, number>();
	let lastAtMs: number | null = null;
	let isLoaded = true;
	let longestMs = 0;
	let longestGapMs = 0;

	function look(key: string): void {
		const fromMs = owedAtMs.get(key);
		const toMs = arrivedAtMs.get(key);
		if (fromMs === undefined || toMs === undefined) return;
		longestMs = Math.max(longestMs, toMs - fromMs);
		owedAtMs.delete(key);
	}

	return {
		/** Records that an answer has just promised the delivery with this key. */
		owed(key: string) {
			owedAtMs.set(key, nowMs());
			// The callback may have reached the shop before the answer was read, so it is looked up at once.
			look(key);
		},
		arrived(key: string) {
			const atMs = nowMs();
			if (lastAtMs !== null && isLoaded) longestGapMs = Math.max(longestGapMs, atMs - lastAtMs);
			lastAtMs = atMs;
			if (arrivedAtMs.has(key)) return;
			arrivedAtMs.set(key, atMs);
			look(key);
		},
		/** Called when no more sales are reported. */
		endLoad() {
			isLoaded = false;
		},
		/**
		 * Longest time from an answer until the first request of its delivery reached the shop, or until now if
		 * none has.
		 */
		get longestMs() {
			return Math.max(longestMs, ...owedAtMs.values().map((fromMs) => nowMs() - fromMs));
		},
		/** Longest time under load without a request to any shop. */
		get longestGapMs() {
			return longestGapMs;
		},
	};
}
