// Runs seeds with one planted defect until an auditor notices it. The command is `node planted-run.ts NAME
// SEEDS`. Each defect needs its own process, because a module is loaded once per process.

import { Broken } from "../support/broken.ts";
import { DEFECTS, type Defect } from "./defects.ts";
import { plantDefect } from "./plant-defect.ts";

export interface PlantedResult {
	seed: number;
	/** The promise that the run reported as broken. Null if the run failed without naming one. */
	promise: string | null;
	message: string;
}

const [, , name = "", seeds = "0"] = process.argv;
const defect = DEFECTS.find((candidate) => candidate.name === name);
if (defect === undefined) throw new Error(`there is no defect "${name}"`);
await plantDefect(defect);
process.stdout.write(`${JSON.stringify(await findBrokenPromise(defect, Number(seeds)))}\n`);

/** Returns the first failure, or null if no seed shows the defect. */
async function findBrokenPromise({ seed: knownSeed }: Defect, count: number): Promise<PlantedResult | null> {
	const { simulate } = await import("./simulation.ts");
	for (const seed of new Set([knownSeed, ...Array.from({ length: count }, (_, index) => index + 1)])) {
		try {
			await simulate(seed);
		} catch (error) {
			const message = error instanceof Error ? error.message : String(error);
			return { seed, promise: error instanceof Broken ? error.promise : null, message };
		}
	}
	return null;
}
