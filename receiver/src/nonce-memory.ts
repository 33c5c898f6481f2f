// Remembers the nonces of accepted requests, so that a copy is refused (contract section 4.3, rule 3).

export type NonceMemory = {
	/**
	 * Remembers the nonce for `forMs` and returns true if it is new. If two calls with the same nonce run
	 * concurrently, only one may return true.
	 */
	remember(nonce: string, forMs: number): boolean | Promise<boolean>;
	/**
	 * Forgets a nonce because the event could not be stored in time, so that the same request is accepted
	 * again. A proxy may repeat the request, and a 401 would end the delivery. No answer waits for this call.
	 */
	forget?(nonce: string): unknown;
};

export type NonceMemoryOptions = {
	/** Maximum number of remembered nonces. When it is reached, the oldest is forgotten. Default: 100,000. */
	readonly capacity?: number | undefined;
	/** Clock in milliseconds. Default: `Date.now`. */
	readonly now?: (() => number) | undefined;
};

// The default is enough for 333 deliveries a second over five minutes, more than ten times what a shop's
// server handles, and takes about 15 MB. Only nonces of genuine requests are remembered, so a stranger cannot
// displace others.
const defaultCapacity = 100_000;

/**
 * Creates a memory of nonces in this process. Several processes behind one address need a shared memory
 * instead.
 */
export function createNonceMemory(options: NonceMemoryOptions = {}): NonceMemory {
	const { capacity = defaultCapacity, now = Date.now } = options;
	// A Map keeps the insertion order, so the oldest nonce comes first.
	const untilMsByNonce = new Map<string, number>();

	function forgetOld(nowMs: number): void {
		for (const [nonce, untilMs] of untilMsByNonce) {
			// A nonce with a longer lifetime delays the removal of those after it, but the capacity still limits
			// the number.
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
