// When a failed try is made again, and after how long. Pure: the clock and the dice arrive as arguments.

export type RetryPolicy = {
	/** Tries in all, the first included. 1: never again. Default 4. */
	readonly maxAttempts: number;
	/** Before the second try; doubles each time. Default 500. */
	readonly firstDelayMs: number;
	/** The longest pause of our own choosing. Default 8,000. */
	readonly maxDelayMs: number;
	/** For everything, pauses included. Default 30,000: room for three pauses of the 5 s that the service asks for. */
	readonly totalMs: number;
};

export const defaultRetry: RetryPolicy = {
	maxAttempts: 4,
	firstDelayMs: 500,
	maxDelayMs: 8_000,
	totalMs: 30_000,
};

/** Milliseconds to wait before the next try, or undefined when there is none. */
export function planRetry(
	policy: RetryPolicy,
	attempts: number,
	elapsedMs: number,
	retryAfterMs: number | undefined,
	dice: number,
): number | undefined {
	if (attempts >= policy.maxAttempts) return undefined;
	const doubledMs = Math.min(policy.maxDelayMs, policy.firstDelayMs * 2 ** (attempts - 1));
	// Half of it is chance: shops that failed together must not come back together. On top of what the service
	// asked for, because sooner than that would be earlier than it allows.
	const delayMs = (retryAfterMs ?? 0) + doubledMs * (0.5 + dice / 2);
	return elapsedMs + delayMs < policy.totalMs ? delayMs : undefined;
}

/** 408, 429 and 5xx pass; the other statuses would be the same again. */
export function isWorthAnotherTry(status: number): boolean {
	return status === 408 || status === 429 || status >= 500;
}

/** Seconds or a date (RFC 9110, section 10.2.3); undefined for anything else. */
export function readRetryAfterMs(value: string | null, nowMs: number): number | undefined {
	if (value === null) return undefined;
	if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
	const atMs = /^[A-Z][a-z]{2}, /.test(value) ? Date.parse(value) : Number.NaN;
	return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
