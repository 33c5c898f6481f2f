// Remembers which requests have been seen, so that a copy of one is refused (contract, 4.3, rule 3).

export type NonceMemory = {
	/**
	 * Whether the nonce is new, in which case it is kept for `forMs`. Of two calls at once with the same nonce
	 * only one may be told true.
	 */
	remember(nonce: string, forMs: number): boolean | Promise<boolean>;
	/**
	 * Called when the request's event could not be stored in time, so that the very same request is welcome again:
	 * a proxy may repeat it, and a 401 would end the delivery. No answer waits for it.
	 */
	forget?(nonce: string): unknown;
};

export type NonceMemoryOptions = {
	/** How many nonces are kept; beyond it the oldest is forgotten. Default: 100,000. */
	readonly capacity?: number | undefined;
	/** The clock in milliseconds. Default: `Date.now`. */
	readonly now?: (() => number) | undefined;
};

// 333 deliveries a second for five minutes: more than ten times what a shop's server takes, in some 15 MB.
// Only requests with a valid signature come this far, so a stranger cannot push others out.
const defaultCapacity = 100_000;

/** In this process only: several processes behind one address need a memory they share. */
export function createNonceMemory(options: NonceMemoryOptions = {}): NonceMemory {
	const { capacity = defaultCapacity, now = Date.now } = options;
	// A Map keeps the order of insertion: the oldest comes first.
	const untilMsByNonce = new Map<string, number>();

	function forgetOld(nowMs: number): void {
		for (const [nonce, untilMs] of untilMsByNonce) {
			// One that is kept for longer than those after it only makes them wait; the capacity still holds.
			if (untilMs > nowMs && untilMsByNonce.size <= capacity) return;
			untilMsByNonce.delete(nonce);
		}
	}

	return {
		remember(nonce, forMs) {
			const nowMs = now();
			const knownUntilMs = untilMsByNonce.get(nonce);
			if (knownUntilMs !== undefined && knownUntilMs > nowMs) return false;
			untilMsByNonce.delete(nonce);
			untilMsByNonce.set(nonce, nowMs + forMs);
			forgetOld(nowMs);
			return true;
		},
		forget(nonce) {
			untilMsByNonce.delete(nonce);
		},
	};
}
