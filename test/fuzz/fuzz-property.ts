// A property is a statement about every case that can be drawn. Cases are drawn in batches. Each batch has
// its own seed and its own service, so that a failing case can be found again by running only its batch.

import fc from "fast-check";
import { BrokenPromise, type Progress } from "../support/proof.ts";

export interface FuzzProperty {
	/** The statement as one sentence. */
	name: string;
	/**
	 * Kinds of cases that the property reports with `meet`. A run in which one of them never occurred proves
	 * less than it claims.
	 */
	kinds: readonly string[];
	/**
	 * Share of the requested cases that are drawn. It is lower for an expensive property, with a database or a
	 * socket.
	 */
	share: number;
	open(world: World): Promise<OpenProperty>;
}

export interface World {
	seed: number;
	meet(kind: string): void;
}

export interface OpenProperty {
	property: fc.IRawProperty<unknown>;
	close(): Promise<void>;
}

export interface FuzzRun {
	seed: number;
	runs: number;
}

/** Number of cases of each kind, and of all cases. */
export interface Tally {
	cases: number;
	met: ReadonlyMap<string, number>;
}

/**
 * Number of cases in a batch. A batch with a database takes a second or two, short enough to run it again as
 * a whole.
 */
export const BATCH_RUNS = 500;
/** Number of seeds. fast-check's seeds are 32-bit integers. */
const SEEDS = 2 ** 31;

/**
 * Draws cases of a property. Rejects with a BrokenPromise at the first case that does not hold, and also if
 * one of the kinds never occurred in a whole batch or more. `position` is used in the replay command.
 */
export async function fuzzProperty(
	property: FuzzProperty,
	position: number,
	{ seed, runs }: FuzzRun,
	progress: Progress,
): Promise<Tally> {
	const met = new Map(property.kinds.map((kind) => [kind, 0]));
	let cases = 0;
	for (let done = 0; done < runs; done += BATCH_RUNS) {
		const batch = {
			seed: (seed + done / BATCH_RUNS) % SEEDS,
			runs: Math.ceil(Math.min(BATCH_RUNS, runs - done) * property.share),
		};
		await runBatch(property, position, batch, (kind) => met.set(kind, (met.get(kind) ?? 0) + 1));
		cases += batch.runs;
		progress(`${position}. ${property.name}: ${cases} cases`);
	}
	const unmet = property.kinds.filter((kind) => met.get(kind) === 0);
	// Each kind is drawn ten times or more in a batch. In fewer cases, chance may leave it out.
	if (unmet.length > 0 && runs >= BATCH_RUNS) {
		throw new BrokenPromise(
			`"${property.name}" proves too little: of ${cases} cases none was ${unmet.join(", none ")}`,
			`npm run fuzz -- --property ${position} --seed ${seed} --runs ${runs}`,
		);
	}
	return { cases, met };
}

async function runBatch(
	property: FuzzProperty,
	position: number,
	{ seed, runs }: FuzzRun,
	meet: (kind: string) => void,
): Promise<void> {
	const opened = await property.open({ seed, meet });
	try {
		const details = await fc.check(opened.property, { seed, numRuns: runs });
		if (!details.failed) return;
		const counterexample = fc.stringify(details.counterexample);
		throw new BrokenPromise(
			`"${property.name}" does not hold of ${counterexample} (seed ${seed}, path ${details.counterexamplePath})`,
			`npm run fuzz -- --property ${position} --seed ${seed} --runs ${BATCH_RUNS}`,
			details.errorInstance,
		);
	} finally {
		await opened.close();
	}
}

/** Returns a property of pure functions, which needs no service. */
export function pureProperty(
	name: string,
	kinds: readonly string[],
	make: (meet: World["meet"]) => fc.IRawProperty<unknown>,
): FuzzProperty {
	return {
		name,
		kinds,
		share: 1,
		open: async ({ meet }) => ({ property: make(meet), close: async () => undefined }),
	};
}
