// Combines several rounds into one figure.

import type { Figure, Goal } from "./workload.ts";

/** Returns the highest rate, because in that round the machine was disturbed least. */
export function best(rounds: readonly number[]): number {
	return Math.max(...rounds);
}

/** Returns the lowest time or cost, because in that round the machine was disturbed least. */
export function least(rounds: readonly number[]): number {
	return Math.min(...rounds);
}

/** Returns the middle value, or the mean of both if the number of values is even. */
export function median(values: readonly number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	const half = sorted.length / 2;
	const [low, high] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
	return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/** Returns the smallest value that is at least as large as the given share of all values. */
export function percentile(values: readonly number[], share: number): number {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function rate(what: string, rounds: readonly number[]): Figure {
	return { what, value: best(rounds), unit: "a second", goal: null, rounds };
}

/** Returns a figure with the shortest of the times, because in that round the machine was disturbed least. */
export function wait(what: string, rounds: readonly number[], goal: Goal | null = null): Figure {
	return { what, value: least(rounds), unit: "ms", goal, rounds };
}

export function ratio(what: string, value: number, goal: Goal | null): Figure {
	return { what, value, unit: "", goal };
}
