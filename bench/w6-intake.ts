// W6 sends signed POST /v1/conversions requests, each of which is a new sale that is stored before the
// answer. It is compared with a server that only checks the signature. A second run sends a hundred sales a
// second, because a call costs more when few calls share a transaction.

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { endChild } from "./child-process.ts";
import type { Database } from "./database.ts";
import { best, rate, ratio } from "./figures.ts";
import { callFigures, loadWords, type MeasuredLoad, ratesOf, withIntake, withShops } from "./intake.ts";
import { type LoadAnswer, reportSales } from "./load-process.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const LOW_RATE = 100;
const REACH = { SQLite: 0.6, PostgreSQL: 0.4 } as const;

interface IntakeScale {
	reports: number;
	/**
	 * Number of requests before the measurement, which compile the code and open the connections of all sides.
	 */
	warmUp: number;
	/** Number of sales that are reported at the low rate. */
	paced: number;
	rounds: number;
}

interface Sales {
	full: MeasuredLoad;
	paced: MeasuredLoad;
}

export const w6Intake = defineWorkload<IntakeScale>({
	name: "W6",
	title: "intake",
	measures:
		"signed sales a second, stored before the answer ÷ the same server that only checks the signature; processor time, also at 100 a second",
	scales: {
		full: { reports: 20_000, warmUp: 4_000, paced: 1_000, rounds: 3 },
		short: { reports: 8_000, warmUp: 2_000, paced: 400, rounds: 1 },
		smoke: { reports: 100, warmUp: 20, paced: 20, rounds: 1 },
	},
	async run(scale, tools) {
		const alone: LoadAnswer[] = [];
		const sales: Record<Database, Sales[]> = { SQLite: [], PostgreSQL: [] };
		for (let round = 1; round <= scale.rounds; round++) {
			const say = (words: string): void => tools.say(`round ${round} of ${scale.rounds}: ${words}`);
			const limit = await measureSignature(scale, tools);
			alone.push(limit);
			say(`signature alone ${loadWords(limit)}`);
			for (const kind of ["SQLite", "PostgreSQL"] as const) {
				const measured = await measureSales(kind, scale, tools);
				sales[kind].push(measured);
				say(`${kind} ${loadWords(measured.full)}; at ${LOW_RATE} a second ${loadWords(measured.paced)}`);
			}
		}
		const limit = best(ratesOf(alone));
		return [
			rate("only the signature (the limit)", ratesOf(alone)),
			...figuresOf("SQLite", sales.SQLite, limit),
			...figuresOf("PostgreSQL", sales.PostgreSQL, limit),
		];
	},
});

function measureSales(kind: Database, scale: IntakeScale, tools: Tools): Promise<Sales> {
	return withIntake(kind, tools, async ({ url, shopsFile, measure }) => {
		const report = (sales: number, perSecond: number): Promise<MeasuredLoad> =>
			measure(sales, () => reportSales(url, shopsFile, sales, { perSecond }));
		await reportSales(url, shopsFile, scale.warmUp);
		const full = await report(scale.reports, 0);
		return { full, paced: await report(scale.paced, LOW_RATE) };
	});
}

function measureSignature(scale: IntakeScale, tools: Tools): Promise<LoadAnswer> {
	return withShops("SQLite", tools, async ({ databaseUrl, shopsFile }) => {
		const server = await startSignatureServer(databaseUrl);
		try {
			await reportSales(server.url, shopsFile, scale.warmUp);
			return await reportSales(server.url, shopsFile, scale.reports);
		} finally {
			await server.stop();
		}
	});
}

async function startSignatureServer(databaseUrl: string): Promise<{ url: string; stop(): Promise<void> }> {
	const child = fork(join(import.meta.dirname, "signature-server.ts"), [databaseUrl]);
	const [{ url }] = await once(child, "message");
	return { url, stop: () => endChild(child) };
}

function figuresOf(kind: Database, sales: readonly Sales[], limit: number): Figure[] {
	const full = sales.map((measured) => measured.full);
	const paced = sales.map((measured) => measured.paced);
	return [
		rate(kind, ratesOf(full)),
		ratio(`${kind} ÷ only the signature`, best(ratesOf(full)) / limit, { atLeast: REACH[kind] }),
		...callFigures(kind, full),
		...callFigures(`${kind}, ${LOW_RATE} a second`, paced),
	];
}
