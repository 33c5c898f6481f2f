// What a workload is, and what it answers.

import type { Tools } from "./tools.ts";

export type Size = "full" | "short" | "smoke";

export interface Workload {
	/** "W1". */
	name: string;
	/** One word or two, for the table. */
	title: string;
	/** For `--help`. */
	measures: string;
	run(size: Size, tools: Tools): Promise<Figure[]>;
}

/** One line of the table. */
export interface Figure {
	what: string;
	value: number;
	/** What the number counts; empty for a ratio. */
	unit: "" | "a second" | "ms" | "µs" | "MB" | "statements" | "deliveries" | "requests" | "attempts";
	/** What docs/performance.md asks; null where nothing is. */
	goal: Goal | null;
	/** Every round, in order, where there are several: how noisy the machine was. */
	rounds?: readonly number[];
}

export type Goal = { atLeast: number } | { atMost: number };

export interface WorkloadDefinition<Scale> {
	name: string;
	title: string;
	measures: string;
	/** As docs/performance.md says it; a few seconds; a second or less, for the tests. */
	scales: Readonly<Record<Size, Scale>>;
	run(scale: Scale, tools: Tools): Promise<Figure[]>;
}

/** Keeps a workload's own scale to itself. */
export function defineWorkload<Scale>(definition: WorkloadDefinition<Scale>): Workload {
	const { name, title, measures, scales, run } = definition;
	return { name, title, measures, run: (size, tools) => run(scales[size], tools) };
}

/** Null where nothing is asked, or nothing was counted. */
export function isReached({ value, goal }: Figure): boolean | null {
	if (goal === null || !Number.isFinite(value)) return null;
	return "atLeast" in goal ? value >= goal.atLeast : value <= goal.atMost;
}
