// Runs one seed after the other in a worker thread, and reports each result.

import { parentPort } from "node:worker_threads";
import { type RunReport, simulate } from "./simulation.ts";

export type SeedResult =
	| { seed: number; report: RunReport }
	/** The error is sent as text, because an error object loses its class between threads. */
	| { seed: number; broken: string };

parentPort?.on("message", async (seed: number) => {
	let result: SeedResult;
	try {
		result = { seed, report: await simulate(seed) };
	} catch (error) {
		result = { seed, broken: error instanceof Error ? (error.stack ?? error.message) : String(error) };
	}
	parentPort?.postMessage(result);
});
