// W16 reports a few sales a second, each with one callback, and measures what a sale costs and how long its answer and its
// callback take. Batches make a sale cheap at full load. At these rates nearly every sale is a batch of its own, as in most
// networks. Every shop reports sales before the measurement, and connections to the receiver are kept.

import { type CallCost, costFigures, measureCost, totalMicros } from "./call-cost.ts";
import { type Database, withStore } from "./database.ts";
import { untilStored } from "./drain.ts";
import { percentile, wait } from "./figures.ts";
import { startReceiver } from "./receiver-process.ts";
import { seedShops } from "./seed-shops.ts";
import { reportOneOfEach, reportSteadily, type SteadySales, untilArrived } from "./steady-sales.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const SHOPS = 100;
/** Goal at the middle rate. At most one of 100 callers may wait longer than this for an answer. */
const REACH = { perSecond: 100, answerMs: 10 } as const;

interface SteadyScale {
	/** Number of sales a second at each rate, and the number of sales that are measured at it. */
	rates: readonly { perSecond: number; sales: number }[];
	/** Number of sales before the measurement, which compile the code and open the connections. */
	warmUp: number;
	/** Number of sales a second before the measurement. */
	warmUpPerSecond: number;
	rounds: number;
}

interface Measured {
	perSecond: number;
	cost: CallCost;
	answerMs: readonly number[];
	/** Times from posting a sale until its callback reached the shop. */
	callbackMs: readonly number[];
}

export const w16Steady = defineWorkload<SteadyScale>({
	name: "W16",
	title: "steady load",
	measures:
		"10, 100 and 300 sales a second with one callback each: processor time of a sale, wait for the answer and the callback",
	scales: {
		full: {
			rates: [
				{ perSecond: 10, sales: 200 },
				{ perSecond: 100, sales: 2_000 },
				{ perSecond: 300, sales: 4_000 },
			],
			warmUp: 3_000,
			warmUpPerSecond: 300,
			rounds: 3,
		},
		short: {
			rates: [
				{ perSecond: 10, sales: 60 },
				{ perSecond: 100, sales: 800 },
				{ perSecond: 300, sales: 1_500 },
			],
			warmUp: 1_500,
			warmUpPerSecond: 300,
			rounds: 1,
		},
		smoke: { rates: [{ perSecond: 100, sales: 50 }], warmUp: 20, warmUpPerSecond: 100, rounds: 1 },
	},
	async run(scale, tools) {
		const figures: Figure[] = [];
		for (const kind of ["SQLite", "PostgreSQL"] as const) {
			const measured: Measured[] = [];
			for (let round = 1; round <= scale.rounds; round++) {
				const say = (words: string): void => tools.say(`round ${round} of ${scale.rounds}: ${kind} ${words}`);
				measured.push(...(await measureRates(kind, scale, { ...tools, say })));
			}
			for (const { perSecond } of scale.rates) {
				figures.push(
					...figuresOf(
						kind,
						perSecond,
						measured.filter((one) => one.perSecond === perSecond),
					),
				);
			}
		}
		return figures;
	},
});

async function measureRates(kind: Database, scale: SteadyScale, tools: Tools): Promise<Measured[]> {
	const receiver = await startReceiver(tools.folder, "watch");
	try {
		return await tools.withDatabase(kind, async (databaseUrl) => {
			const shops = await withStore(databaseUrl, (store) => seedShops(store, SHOPS, receiver.url));
			const service = await tools.startService({ databaseUrl, caFile: receiver.caFile, role: "all" });
			let orders = 0;
			const nextOrderId = (): string => `order-${orders++}`;
			const urls = [service.url];
			const report = async (load: Pick<SteadySales, "perSecond" | "count">) => {
				const sales = await reportSteadily({ urls, shops, nextOrderId, ...load });
				const arrivedAtMs = await untilArrived(receiver, sales);
				await untilStored(databaseUrl);
				return { sales, arrivedAtMs };
			};
			try {
				await untilArrived(receiver, await reportOneOfEach({ urls, shops, nextOrderId }));
				await report({ perSecond: scale.warmUpPerSecond, count: scale.warmUp });
				const measured: Measured[] = [];
				for (const { perSecond, sales: count } of scale.rates) {
					await tools.beginPhase();
					const load = () => report({ perSecond, count });
					const of = { kind, databaseUrl, pid: service.pid };
					const { sales, arrivedAtMs, cost } = await measureCost(of, count, load);
					const arrivalOf = (conversion: string) => arrivedAtMs.get(conversion) ?? Number.NaN;
					const found: Measured = {
						perSecond,
						cost,
						answerMs: sales.map(({ postedAtMs, answeredAtMs }) => answeredAtMs - postedAtMs),
						callbackMs: sales.map(({ conversion, postedAtMs }) => arrivalOf(conversion) - postedAtMs),
					};
					measured.push(found);
					tools.say(wordsOf(found));
				}
				return measured;
			} finally {
				await service.stop();
			}
		});
	} finally {
		await receiver.stop();
	}
}

function figuresOf(kind: Database, perSecond: number, measured: readonly Measured[]): Figure[] {
	const name = `${kind}, ${perSecond} a second`;
	const waits = (read: (one: Measured) => readonly number[], share: number): number[] =>
		measured.map((one) => percentile(read(one), share));
	const goal = perSecond === REACH.perSecond ? { atMost: REACH.answerMs } : null;
	const answer = ({ answerMs }: Measured) => answerMs;
	const callback = ({ callbackMs }: Measured) => callbackMs;
	return [
		...costFigures(
			name,
			measured.map(({ cost }) => cost),
		),
		wait(`${name}: p50 of the answer`, waits(answer, 0.5)),
		wait(`${name}: p99 of the answer`, waits(answer, 0.99), goal),
		wait(`${name}: p50 of the callback`, waits(callback, 0.5)),
		wait(`${name}: p99 of the callback`, waits(callback, 0.99)),
	];
}

function wordsOf({ perSecond, cost, answerMs, callbackMs }: Measured): string {
	const p99 = (waitsMs: readonly number[]) => `${percentile(waitsMs, 0.99).toFixed(1)} ms`;
	return `${perSecond} a second: ${Math.round(totalMicros(cost))} µs, p99 ${p99(answerMs)} and ${p99(callbackMs)}`;
}
