// Runs many seeds on all cores. The first broken promise ends the run and names the seed that shows it again.

import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { BrokenPromise, type Progress, type Proof, zeros } from "../support/proof.ts";
import type { SeedResult } from "./seed-worker.ts";
import { type RunReport, simulate } from "./simulation.ts";

/** Largest seed, because greater ones would repeat smaller ones. */
const MAX_SEED = 2 ** 31 - 1;

export const simulationProof: Proof = {
	name: "simulate",
	summary:
		"Runs the real engine and use cases through days of virtual time with crashes, hostile networks and clocks that jump, and audits every request.",
	options: {
		seeds: { value: "N", help: "number of runs", preset: 300, least: 1 },
		first: { value: "S", help: "the first seed; the others follow", preset: 1, most: MAX_SEED },
		seed: { value: "S", help: "only this run; --seeds is ignored", preset: null, most: MAX_SEED },
	},
	async run({ seeds, first, seed }, progress) {
		if (seed !== null && seed !== undefined) return runAlone(seed);
		return summarize(await runSeeds(first ?? 1, seeds ?? 0, progress));
	},
};

const COUNTED = [
	"virtualDays",
	"orders",
	"lateSales",
	"unparkedConfirmations",
	"replacedPixels",
	"credited",
	"partnerEvents",
	"refunds",
	"assignments",
	"adjustments",
	"statements",
	"payments",
	"deliveries",
	"requests",
	"kills",
	"lost",
	"mails",
	"hurried",
] as const satisfies readonly (keyof RunReport)[];

export type Totals = Record<"runs" | (typeof COUNTED)[number], number>;

export async function runSeeds(first: number, count: number, progress: Progress): Promise<Totals> {
	const totals: Totals = { runs: 0, ...zeros(COUNTED) };
	let next = first;
	const takeSeed = (): number | undefined => (next < first + count ? next++ : undefined);
	const workers = Array.from({ length: Math.min(count, availableParallelism()) }, () => startWorker());
	try {
		await Promise.all(
			workers.map(async (worker) => {
				for (let seed = takeSeed(); seed !== undefined; seed = takeSeed()) {
					add(totals, await worker.run(seed));
					progress(`${totals.runs} of ${count} runs, ${totals.requests} requests audited`);
				}
			}),
		);
	} finally {
		await Promise.all(workers.map((worker) => worker.stop()));
	}
	return totals;
}

async function runAlone(seed: number): Promise<string> {
	try {
		const { digest, ...report } = await simulate(seed);
		return `${summarize({ runs: 1, ...report })}; digest ${digest.slice(0, 16)}`;
	} catch (error) {
		throw breakAt(seed, error instanceof Error ? (error.stack ?? error.message) : String(error));
	}
}

interface SeedWorker {
	run(seed: number): Promise<RunReport>;
	stop(): Promise<unknown>;
}

function startWorker(): SeedWorker {
	const worker = new Worker(new URL("./seed-worker.ts", import.meta.url));
	return {
		run: (seed) =>
			new Promise((resolve, reject) => {
				const onError = (error: Error) => reject(breakAt(seed, error.stack ?? error.message));
				worker.once("error", onError);
				worker.once("message", (result: SeedResult) => {
					worker.off("error", onError);
					if ("report" in result) resolve(result.report);
					else reject(breakAt(result.seed, result.broken));
				});
				worker.postMessage(seed);
			}),
		stop: () => worker.terminate(),
	};
}

function breakAt(seed: number, what: string): BrokenPromise {
	return new BrokenPromise(what, `npm run simulate -- --seed ${seed}`);
}

function add(totals: Totals, report: RunReport): void {
	totals.runs++;
	for (const name of COUNTED) totals[name] += report[name];
}

function summarize(totals: Totals): string {
	const {
		runs,
		virtualDays,
		orders,
		lateSales,
		unparkedConfirmations,
		replacedPixels,
		credited,
		partnerEvents,
	} = totals;
	const { deliveries, requests, kills, lost, mails, hurried } = totals;
	const { refunds, assignments, adjustments, statements, payments } = totals;
	const money = `${refunds} refunds, ${assignments} changed partners, ${adjustments} adjustments, ${statements} statements, ${payments} payments`;
	return `${runs} ${runs === 1 ? "run" : "runs"} over ${virtualDays} virtual days: ${orders} orders (${lateSales} reported late, ${unparkedConfirmations} confirmed without parking, ${replacedPixels} after a rejected pixel, ${credited} credited to a partner), ${money}, ${deliveries} deliveries (${partnerEvents} to partners), ${requests} requests audited, ${hurried} of them sent before their time by hand, ${kills} processes killed, ${lost} attempts lost with them and made again, ${mails} mails; every promise held`;
}
