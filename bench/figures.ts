// How several rounds become one figure.

import type { Figure, Goal } from "./workload.ts";

/** Of rates: the best round is the one that the machine disturbed least. */
export function best(rounds: readonly number[]): number {
	return Math.max(...rounds);
}

/** Of waits and costs, for the same reason. */
export function least(rounds: readonly number[]): number {
	return Math.min(...rounds);
}

export function median(values: readonly number[]): number {
	return percentile(values, 0.5);
}

/** The smallest value that so large a share of all does not exceed. */
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
