// Decides whether and when a failed try is repeated. The functions are pure, so time and randomness are
// arguments.

export type RetryPolicy = {
	/** Maximum number of tries, including the first. Default: 4. */
	readonly maxAttempts: number;
	/** Pause in milliseconds before the second try. It doubles before each further try. Default: 500. */
	readonly firstDelayMs: number;
	/** Longest pause in milliseconds, unless the service asks for a longer one. Default: 8,000. */
	readonly maxDelayMs: number;
	/**
	 * Time limit in milliseconds for the whole call including pauses. The default of 30,000 is enough for three
	 * pauses of the 5 s that the service asks for.
	 */
	readonly totalMs: number;
};

export const defaultRetry: RetryPolicy = {
	maxAttempts: 4,
	firstDelayMs: 500,
	maxDelayMs: 8_000,
	totalMs: 30_000,
};

/** Returns the pause in milliseconds before the next try, or undefined if the call is not tried again. */
export function planRetry(
	policy: RetryPolicy,
	attempts: number,
	elapsedMs: number,
	retryAfterMs: number | undefined,
	dice: number,
): number | undefined {
	if (attempts >= policy.maxAttempts) return undefined;
	const doubledMs = Math.min(policy.maxDelayMs, policy.firstDelayMs * 2 ** (attempts - 1));
	// Half of the pause is random, so that shops that failed at the same time do not retry at the same time.
	// The pause is added to the time that the service asked for, because the service does not want an earlier
	// request.
	const delayMs = (retryAfterMs ?? 0) + doubledMs * (0.5 + dice / 2);
	return elapsedMs + delayMs < policy.totalMs ? delayMs : undefined;
}

/**
 * Returns true for 408, 429 and 5xx, because these failures may be temporary. A retry after any other status
 * would get the same answer.
 */
export function isWorthAnotherTry(status: number): boolean {
	return status === 408 || status === 429 || status >= 500;
}

/**
 * Parses a Retry-After header, which contains seconds or a date (RFC 9110, section 10.2.3). Returns undefined
 * if it is neither.
 */
export function readRetryAfterMs(value: string | null, nowMs: number): number | undefined {
	if (value === null) return undefined;
	if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
	const atMs = /^[A-Z][a-z]{2}, /.test(value) ? Date.parse(value) : Number.NaN;
	return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
