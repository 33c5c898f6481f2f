// W7 measures the memory of the service while millions of deliveries are due, and whether it still grows.

import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "./database.ts";
import { residentMb } from "./process-cost.ts";
import type { Tools } from "./tools.ts";
import { seedDrain } from "./w1-drain.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const REACH_MB = 250;
/** Maximum growth between the first and the second half that garbage collection alone may cause. */
const FLAT = 1.05;
const SAMPLE_MS = 100;

interface MemoryScale {
	due: number;
	/** Duration of the measurement, unless everything is sent earlier. */
	forMs: number;
}

export const w7Memory = defineWorkload<MemoryScale>({
	name: "W7",
	title: "memory",
	measures: "resident size of the service while 1,000,000 deliveries are due: below 250 MB, and flat",
	scales: {
		full: { due: 1_000_000, forMs: 90_000 },
		short: { due: 20_000, forMs: 6_000 },
		smoke: { due: 500, forMs: 500 },
	},
	async run(scale, tools) {
		const figures: Figure[] = [];
		for (const kind of ["SQLite", "PostgreSQL"] as const)
			figures.push(...(await measureOn(kind, scale, tools)));
		return figures;
	},
});

function measureOn(kind: Database, { due, forMs }: MemoryScale, tools: Tools): Promise<Figure[]> {
	return tools.withDatabase(kind, async (databaseUrl) => {
		const receiver = await tools.receiver();
		await receiver.forget();
		await seedDrain(databaseUrl, due, receiver.url, tools.say);
		const service = await tools.startService({ databaseUrl, caFile: receiver.caFile, role: "all" });
		const samples: number[] = [];
		try {
			await receiver.until(1);
			const untilMs = performance.now() + forMs;
			while (performance.now() < untilMs && (await receiver.count()).count < due) {
				samples.push(residentMb(service.pid));
				await sleep(SAMPLE_MS);
			}
			tools.say(`${kind}: ${(await receiver.count()).count} of ${due} sent meanwhile`);
		} finally {
			await service.stop();
		}
		return figuresOf(kind, samples);
	});
}

function figuresOf(kind: Database, samples: readonly number[]): Figure[] {
	const largest = (from: number, to: number): number =>
		Math.max(
			...samples.slice(Math.floor(samples.length * from), Math.max(1, Math.ceil(samples.length * to))),
		);
	return [
		{ what: `${kind}: largest`, value: largest(0, 1), unit: "MB", goal: { atMost: REACH_MB } },
		{
			what: `${kind}: last quarter ÷ the one before`,
			value: largest(0.75, 1) / largest(0.5, 0.75),
			unit: "",
			goal: { atMost: FLAT },
		},
	];
}
