// How long shops waited for their callbacks while processes came and went.

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
		/** An answer has just promised this delivery. */
		owed(key: string) {
			owedAtMs.set(key, nowMs());
			// It may have reached the shop before the answer came here.
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
		/** Nobody reports any more. */
		endLoad() {
			isLoaded = false;
		},
		/** From the answer until the first request of it reached the shop, or until now where none has. */
		get longestMs() {
			return Math.max(longestMs, ...owedAtMs.values().map((fromMs) => nowMs() - fromMs));
		},
		/** Between two requests, whichever shops they were for, while there was a load. */
		get longestGapMs() {
			return longestGapMs;
		},
	};
}
