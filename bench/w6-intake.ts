// W6 sends signed POST /v1/conversions requests, each of which is a new sale with a callback and is stored
// before the answer. It is compared with a server that only checks the signature. Nothing is delivered at the
// same time, because the process has the role web.

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { endChild } from "./child-process.ts";
import { withStore } from "./database.ts";
import { best, rate, ratio } from "./figures.ts";
import { type LoadAnswer, reportSales, writeShops } from "./load-process.ts";
import { seedShops } from "./seed-shops.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const SHOPS = 100;
const REACH = { SQLite: 0.6, PostgreSQL: 0.4 } as const;

interface IntakeScale {
	reports: number;
	/**
	 * Number of requests before the measurement, which compile the code and open the connections of all sides.
	 */
	warmUp: number;
	rounds: number;
}

type Side = "signature alone" | "SQLite" | "PostgreSQL";

export const w6Intake = defineWorkload<IntakeScale>({
	name: "W6",
	title: "intake",
	measures:
		"signed sales a second, stored before the answer ÷ the same server that only checks the signature",
	scales: {
		full: { reports: 20_000, warmUp: 4_000, rounds: 3 },
		short: { reports: 3_000, warmUp: 1_000, rounds: 1 },
		smoke: { reports: 100, warmUp: 20, rounds: 1 },
	},
	async run(scale, tools) {
		const answers: Record<Side, LoadAnswer[]> = { "signature alone": [], SQLite: [], PostgreSQL: [] };
		for (let round = 1; round <= scale.rounds; round++) {
			for (const side of ["signature alone", "SQLite", "PostgreSQL"] as const) {
				const answer = await measureSide(side, scale, tools);
				answers[side].push(answer);
				const { perSecond, p50Ms, p99Ms } = answer;
				tools.say(
					`round ${round} of ${scale.rounds}: ${side} ${Math.round(perSecond)} a second, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`,
				);
			}
		}
		const limit = best(ratesOf(answers["signature alone"]));
		return [
			rate("only the signature (the limit)", ratesOf(answers["signature alone"])),
			...figuresOf("SQLite", answers.SQLite, limit),
			...figuresOf("PostgreSQL", answers.PostgreSQL, limit),
		];
	},
});

function measureSide(side: Side, scale: IntakeScale, tools: Tools): Promise<LoadAnswer> {
	return tools.withDatabase(side === "PostgreSQL" ? "PostgreSQL" : "SQLite", async (databaseUrl) => {
		const { caFile, url: urlOf } = await tools.receiver();
		const shops = await withStore(databaseUrl, (store) => seedShops(store, SHOPS, urlOf));
		const shopsFile = writeShops(tools.folder, shops);
		const server =
			side === "signature alone"
				? await startSignatureServer(databaseUrl)
				: await tools.startService({ databaseUrl, caFile, role: "web" });
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

function ratesOf(answers: readonly LoadAnswer[]): number[] {
	return answers.map(({ perSecond }) => perSecond);
}

function figuresOf(kind: keyof typeof REACH, answers: readonly LoadAnswer[], limit: number): Figure[] {
	return [
		rate(kind, ratesOf(answers)),
		ratio(`${kind} ÷ only the signature`, best(ratesOf(answers)) / limit, { atLeast: REACH[kind] }),
		{
			what: `${kind}: p99 of the answer`,
			value: Math.min(...answers.map(({ p99Ms }) => p99Ms)),
			unit: "ms",
			goal: null,
		},
	];
}
