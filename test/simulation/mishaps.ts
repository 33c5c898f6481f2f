// Causes faults that can hit a service process between any two of its steps: the process is killed, the database
// fails, or another process stores a new order first.

import type { SeededRandom } from "../support/seeded-random.ts";

/** Error of every call that a dead process makes. Nobody handles this error. */
export class Killed extends Error {
	constructor() {
		super("this process was killed");
	}
}

/** Error of a broken database connection, after which it is unknown whether a commit succeeded. */
export class DatabaseFailed extends Error {
	constructor() {
		super("the database did not answer");
	}
}

/** Share of new orders that another process stores first. */
const CONTESTED_SHARE = 0.05;
/**
 * Number of uncontested writes after a contested one. A batch that met conflicts again and again would refuse its
 * calls.
 */
const WRITES_BETWEEN = 4;

export type Mishaps = ReturnType<typeof createMishaps>;

export function createMishaps(
	random: SeededRandom,
	databaseFailureShare: () => number,
	process: { isAlive: boolean; kill(): void },
) {
	let stepsLeft = Number.POSITIVE_INFINITY;
	let uncontestedWrites = 0;

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
		demandAlive,
		/** Counts a step that does not use the database. */
		stepAlone,
		/**
		 * Counts a step that uses the database, and must be called at every such step. Throws if the process dies at this
		 * step, is already dead, or the database fails.
		 */
		step() {
			stepAlone();
			const share = databaseFailureShare();
			if (share > 0 && random.chance(share)) throw new DatabaseFailed();
		},
		/**
		 * Returns whether a write that starts conversions meets a conflict. SQLite has only one writer, so its conflicts are
		 * made up.
		 */
		isContested(): boolean {
			uncontestedWrites--;
			if (uncontestedWrites > 0 || !random.chance(CONTESTED_SHARE)) return false;
			uncontestedWrites = WRITES_BETWEEN;
			return true;
		},
		/** Kills the process after this many further steps. */
		dieAfter(steps: number) {
			stepsLeft = steps;
		},
	};
}
