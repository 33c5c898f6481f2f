// What can hit one service process between any two of its steps: it is killed, or the database fails it.

import type { SeededRandom } from "../support/seeded-random.ts";

/** Every call of a dead process fails with this; nobody is there to hear it. */
export class Killed extends Error {
	constructor() {
		super("this process was killed");
	}
}

/** The database broke the connection: whether a commit came through is not known. */
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
		/** Throws when the process is dead. */
		demandAlive,
		/** For steps without a database. */
		stepAlone,
		/** To be called at every step. Throws when the process dies there, was dead before, or the database fails. */
		step() {
			stepAlone();
			const share = databaseFailureShare();
			if (share > 0 && random.chance(share)) throw new DatabaseFailed();
		},
		/** Dies when it has taken so many more steps. */
		dieAfter(steps: number) {
			stepsLeft = steps;
		},
	};
}
