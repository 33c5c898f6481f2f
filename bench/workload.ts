// What a workload is asked for, and what it answers.

export interface Scale {
	deliveries: number;
	rounds: number;
}

export interface Figure {
	workload: string;
	what: string;
	/** The best of the rounds. */
	perSecond: number;
	/** To the limit of the same run; null for the limit itself. */
	ratio: number | null;
	/** What performance.md asks the ratio to reach. */
	reach: number | null;
	/** Every round, in order: how noisy the machine was. */
	rounds: readonly number[];
	/** Largest resident size of the process, where it was looked at. */
	rssMb?: number;
}
