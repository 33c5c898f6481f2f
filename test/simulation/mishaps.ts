// Faults that can hit a service process between any two of its steps: it is killed, or the database fails.

import type { SeededRandom } from "../support/seeded-random.ts";

/** Error of every call that a dead process makes. No caller is left to handle it. */
export class Killed extends Error {
	constructor() {
		super("this process was killed");
	}
}

/** Error of a broken database connection. It is then unknown whether a commit succeeded. */
export class DatabaseFailed extends Error {
	constructor() {
		super("the database did not answer");
	}
}

export type Mishaps = ReturnType<typeof createMishaps>;

export function createMishaps(
	random: SeededRandom,
	databaseFailureShare: () => number,
	process: { isAlive: boolean; kill(): void },
) {
	let stepsLeft = Number.POSITIVE_INFINITY;

	function demandAlive(): void {
		if (!process.isAlive) throw new Killed();
	}

	function stepAlone(): void {
		demandAlive();
		stepsLeft--;
		if (stepsLeft > 0) return;
		process.kill();
		throw new Killed();
	}

	return {
		/** Throws if the process is dead. */
		demandAlive,
		/** Counts a step that does not use the database. */
		stepAlone,
		/**
		 * Counts a step that uses the database. It must be called at every such step. Throws if the process dies
		 * at this step, is already dead, or the database fails.
		 */
		step() {
			stepAlone();
			const share = databaseFailureShare();
			if (share > 0 && random.chance(share)) throw new DatabaseFailed();
		},
		/** Kills the process after this many further steps. */
		dieAfter(steps: number) {
			stepsLeft = steps;
		},
	};
}
