// Definition of a workload and its result.

import type { Tools } from "./tools.ts";

export type Size = "full" | "short" | "smoke";

export interface Workload {
	/** Name of the workload, such as "W1". */
	name: string;
	/** Title of the workload, one or two words for the table of figures. */
	title: string;
	/** Sentence for `--help` that says what the workload measures. */
	measures: string;
	/** True if the workload runs sources of this checkout itself, so that it cannot measure another checkout. */
	runsOwnSources: boolean;
	run(size: Size, tools: Tools): Promise<Figure[]>;
}

/** A measured figure, which is one line of the table. */
export interface Figure {
	what: string;
	value: number;
	/** Unit of the number, or empty for a ratio. */
	unit:
		| ""
		| "a second"
		| "ms"
		| "µs"
		| "MB"
		| "bytes"
		| "statements"
		| "deliveries"
		| "requests"
		| "attempts";
	/** Goal of the figure in docs/performance.md, or null if it has none. */
	goal: Goal | null;
	/** Figures of all rounds in the order of the rounds. They show how noisy the machine was. */
	rounds?: readonly number[];
}

export type Goal = { atLeast: number } | { atMost: number };

export interface WorkloadDefinition<Scale> {
	name: string;
	title: string;
	measures: string;
	runsOwnSources?: true;
	/**
	 * Scale for each size: the full size of docs/performance.md, a few seconds, or less than a second for the
	 * tests.
	 */
	scales: Readonly<Record<Size, Scale>>;
	run(scale: Scale, tools: Tools): Promise<Figure[]>;
}

/** Returns a workload, without the type of its scale. */
export function defineWorkload<Scale>(definition: WorkloadDefinition<Scale>): Workload {
	const { name, title, measures, runsOwnSources = false, scales, run } = definition;
	return { name, title, measures, runsOwnSources, run: (size, tools) => run(scales[size], tools) };
}

/** Returns whether the goal is reached. Returns null if there is no goal or nothing was counted. */
export function isReached({ value, goal }: Figure): boolean | null {
	if (goal === null || !Number.isFinite(value)) return null;
	return "atLeast" in goal ? value >= goal.atLeast : value <= goal.atMost;
}
