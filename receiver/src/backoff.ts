// Pauses before work that failed is tried again.

export type Backoff = {
	/** Pause in milliseconds after the first failure. It doubles after each further failure. */
	readonly firstMs: number;
	readonly longestMs: number;
};

/**
 * Returns the pause after this many failures in a row. A quarter of it is random, so that work that failed at
 * the same time is not tried again at the same time.
 */
export function pauseAfter({ firstMs, longestMs }: Backoff, failures: number, dice: number): number {
	// The exponent is limited, because a larger power would be Infinity.
	const doubledMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30));
	return Math.round(doubledMs * (0.75 + dice / 4));
}
