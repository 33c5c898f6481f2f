// Decides when a failed attempt is repeated (contract section 8).

import { HOUR_MS, MINUTE_MS } from "./time.ts";

export const RETRY_DELAYS_MS: readonly number[] = [
	1 * MINUTE_MS,
	5 * MINUTE_MS,
	30 * MINUTE_MS,
	2 * HOUR_MS,
	6 * HOUR_MS,
	24 * HOUR_MS,
];

export const MAX_ATTEMPTS = RETRY_DELAYS_MS.length + 1;

/**
 * Returns the time at which the next attempt is due, counted from the end of the failed attempt. Returns null after
 * the seventh attempt.
 */
export function nextDueAtMs(countedAttempts: number, endedAtMs: number): number | null {
	const delayMs = RETRY_DELAYS_MS[countedAttempts - 1];
	return delayMs === undefined ? null : endedAtMs + delayMs;
}
