// What a workload is asked for, and what it answers.

export interface Scale {
	deliveries: number;
	conversions: number;
	rounds: number;
}

export type Figure = RateFigure | WaitFigure;

export interface RateFigure {
	kind: "rate";
	workload: string;
	what: string;
	/** The best of the rounds. */
	perSecond: number;
	/** To the limit of the same run; null for the limit itself. */
	ratio: number | null;
	/** What is asked of the ratio. */
	reach: number | null;
	/** Every round, in order: how noisy the machine was. */
	rounds: readonly number[];
	/** Largest resident size of the process, where it was looked at. */
	rssMb?: number;
}

export interface WaitFigure {
	kind: "wait";
	workload: string;
	what: string;
	/** The median of the rounds. */
	ms: number;
	reachMs: number;
	rounds: readonly number[];
}
