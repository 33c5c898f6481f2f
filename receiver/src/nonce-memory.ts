// Remembers the nonces of accepted requests, so that a copy is refused (contract section 4.3, rule 3).

export type NonceMemory = {
	/**
	 * Returns true if the nonce is new, and remembers it for `forMs`. Of two concurrent calls with the same
	 * nonce only one may get true.
	 */
	remember(nonce: string, forMs: number): boolean | Promise<boolean>;
	/**
	 * Forgets a nonce because the event could not be stored in time, so that the same request is accepted
	 * again. A proxy may repeat it, and a 401 would end the delivery. No answer waits for this call.
	 */
	forget?(nonce: string): unknown;
};

export type NonceMemoryOptions = {
	/** Maximum number of nonces. When it is reached, the oldest is forgotten. Default: 100,000. */
	readonly capacity?: number | undefined;
	/** Clock in milliseconds. Default: `Date.now`. */
	readonly now?: (() => number) | undefined;
};

// 333 deliveries a second for five minutes, more than ten times what a shop's server handles, in about 15 MB.
// Only requests with a valid signature are remembered, so a stranger cannot evict others.
const defaultCapacity = 100_000;

/** Remembers nonces in this process only. Several processes behind one address need a shared memory. */
export function createNonceMemory(options: NonceMemoryOptions = {}): NonceMemory {
	const { capacity = defaultCapacity, now = Date.now } = options;
	// A Map keeps the insertion order, so the oldest nonce comes first.
	const untilMsByNonce = new Map<string, number>();

	function forgetOld(nowMs: number): void {
		for (const [nonce, untilMs] of untilMsByNonce) {
			// A nonce with a longer lifetime delays the removal of those after it, but the capacity still limits
			// the size.
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
