// How long shops waited for their callbacks while processes came and went.

export interface Waits {
	/** An answer has just promised this delivery. */
	owed(key: string): void;
	arrived(key: string): void;
	/** From the answer until the first request of it reached the shop, or until now where none has. */
	readonly longestMs: number;
	/** Between two requests, whichever shops they were for, while there was a load. */
	readonly longestGapMs: number;
	/** Nobody reports any more. */
	endLoad(): void;
}

export function createWaits(nowMs: () => number): Waits {
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
		owed(key) {
			owedAtMs.set(key, nowMs());
			// It may have reached the shop before the answer came here.
			look(key);
		},
		arrived(key) {
			const atMs = nowMs();
			if (lastAtMs !== null && isLoaded) longestGapMs = Math.max(longestGapMs, atMs - lastAtMs);
			lastAtMs = atMs;
			if (arrivedAtMs.has(key)) return;
			arrivedAtMs.set(key, atMs);
			look(key);
		},
		endLoad() {
			isLoaded = false;
		},
		get longestMs() {
			return Math.max(longestMs, ...owedAtMs.values().map((fromMs) => nowMs() - fromMs));
		},
		get longestGapMs() {
			return longestGapMs;
		},
	};
}
