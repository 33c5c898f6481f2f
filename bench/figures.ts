// Combines several rounds into one figure.

import type { Figure, Goal } from "./workload.ts";

/** Returns the best rate, because the machine disturbed that round least. */
export function best(rounds: readonly number[]): number {
	return Math.max(...rounds);
}

/** Returns the least wait or cost, for the same reason. */
export function least(rounds: readonly number[]): number {
	return Math.min(...rounds);
}

export function median(values: readonly number[]): number {
	return percentile(values, 0.5);
}

/** Returns the smallest value that this share of all values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function rate(what: string, rounds: readonly number[]): Figure {
	return { what, value: best(rounds), unit: "a second", goal: null, rounds };
}

export function ratio(what: string, value: number, goal: Goal | null): Figure {
	return { what, value, unit: "", goal };
}
