// W13 reports a few sales of many shops on PostgreSQL, with one delivering process and with two. Two
// processes get the sales in turn, so half of the sales reach the process that does not send to their shop.
// It measures the first callback, from posting the sale until the request reaches the shop. The measurement
// does not start at the answer, because a process that sends right after the commit is often faster than the
// answer. Every shop reports a sale before the measurement, so that the processes know all shops. At the end,
// one of the two processes is killed under the same load.

import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { createSeededRandom } from "../test/support/seeded-random.ts";
import { withStore } from "./database.ts";
import { least, percentile } from "./figures.ts";
import { type Receiver, startReceiver } from "./receiver-process.ts";
import { nowMs, type ReportedSale, reportSale } from "./sale.ts";
import { type SeededShop, seedShops } from "./seed-shops.ts";
import type { ServiceProcess } from "./service-process.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const REACH = { ratio: 1.5, killedMs: 20_000 } as const;
const PERCENTILES = { p50: 0.5, p95: 0.95 } as const;
/**
 * Number of connections. It is higher than the number of calls in flight, so that no call waits for another.
 */
const CONNECTIONS = 16;
const SALES_A_SECOND = 30;
const LOOK_MS = 200;
/** Time after which a callback counts as lost. No callback may wait this long. */
const STUCK_MS = 90_000;

interface LowLoadScale {
	shops: number;
	/**
	 * Warm-up time, in addition to one sale of every shop. Processes need less time than this to share the
	 * slots, so that the sharing is not measured.
	 */
	warmUpSeconds: number;
	seconds: number;
	rounds: number;
	/** Time for which sales continue after a process was killed, or 0 to kill none. */
	killedSeconds: number;
}

interface FirstCallbacks {
	sincePostMs: number[];
	sinceAnswerMs: number[];
}

interface Stage {
	databaseUrl: string;
	receiver: Receiver;
	shops: readonly SeededShop[];
	scale: LowLoadScale;
	tools: Tools;
	/** Number of the next order. */
	sales: number;
}

export const w13LowLoad = defineWorkload<LowLoadScale>({
	name: "W13",
	title: "low load",
	measures:
		"30 sales a second over 2,000 shops on PostgreSQL: from posting a sale to its callback, two processes ÷ one; one killed",
	scales: {
		full: { shops: 2_000, warmUpSeconds: 8, seconds: 20, rounds: 3, killedSeconds: 25 },
		short: { shops: 2_000, warmUpSeconds: 7, seconds: 6, rounds: 1, killedSeconds: 18 },
		smoke: { shops: 20, warmUpSeconds: 0, seconds: 1, rounds: 1, killedSeconds: 0 },
	},
	async run(scale, tools) {
		const receiver = await startReceiver(tools.folder, "watch");
		try {
			return await tools.withDatabase("PostgreSQL", async (databaseUrl) => {
				const shops = await withStore(databaseUrl, (store) => seedShops(store, scale.shops, receiver.url));
				return measureAll({ databaseUrl, receiver, shops, scale, tools, sales: 0 });
			});
		} finally {
			await receiver.stop();
		}
	},
});

async function measureAll(stage: Stage): Promise<Figure[]> {
	const { rounds, killedSeconds } = stage.scale;
	const { say } = stage.tools;
	const one: FirstCallbacks[] = [];
	const two: FirstCallbacks[] = [];
	for (let round = 1; round <= rounds; round++) {
		for (const [processes, answers] of [
			[1, one],
			[2, two],
		] as const) {
			const found = await withServices(stage, processes, (services) => timeFirstCallbacks(stage, services));
			answers.push(found);
			const p50 = percentile(found.sincePostMs, PERCENTILES.p50).toFixed(1);
			const p95 = percentile(found.sincePostMs, PERCENTILES.p95).toFixed(1);
			say(`round ${round} of ${rounds}: ${processes} in ${p50} and ${p95} ms`);
		}
	}
	return [
		...(["p50", "p95"] as const).flatMap((name) => ratioFigures(name, one, two)),
		...(killedSeconds === 0 ? [] : await withServices(stage, 2, (services) => killOne(stage, services, say))),
	];
}

async function withServices<Answer>(
	{ databaseUrl, receiver, tools }: Stage,
	count: number,
	work: (services: readonly ServiceProcess[]) => Promise<Answer>,
): Promise<Answer> {
	const services: ServiceProcess[] = [];
	try {
		for (let i = 0; i < count; i++) {
			services.push(await tools.startService({ databaseUrl, caFile: receiver.caFile, role: "all" }));
		}
		return await work(services);
	} finally {
		await Promise.all(services.map((service) => service.stop()));
	}
}

async function timeFirstCallbacks(
	stage: Stage,
	services: readonly ServiceProcess[],
): Promise<FirstCallbacks> {
	const urls = services.map(({ url }) => url);
	await warmUp(stage, urls);
	const sales = await reportSales(stage, urls, stage.scale.seconds);
	const arrivedAtMs = await untilArrived(stage, sales);
	const since = (from: "postedAtMs" | "answeredAtMs"): number[] =>
		sales.map((sale) => Math.max(0, (arrivedAtMs.get(sale.conversion) ?? Number.NaN) - sale[from]));
	return { sincePostMs: since("postedAtMs"), sinceAnswerMs: since("answeredAtMs") };
}

/**
 * Kills a process and returns the longest wait of any callback after that. The wait of a callback that was
 * already pending counts from the kill.
 */
async function killOne(
	stage: Stage,
	services: readonly ServiceProcess[],
	say: (line: string) => void,
): Promise<Figure[]> {
	const [survivor, victim] = services;
	if (survivor === undefined || victim === undefined) throw new Error("it takes two");
	await warmUp(stage, [survivor.url, victim.url]);
	let killedAtMs = Number.NaN;
	const [sales] = await Promise.all([
		reportSales(stage, [survivor.url], stage.scale.killedSeconds),
		sleep(1_000).then(() => {
			killedAtMs = nowMs();
			return victim.kill();
		}),
	]);
	const arrivedAtMs = await untilArrived(stage, sales);
	const waitsMs = sales.map(
		({ conversion, postedAtMs }) =>
			(arrivedAtMs.get(conversion) ?? Number.NaN) - Math.max(postedAtMs, killedAtMs),
	);
	const waited = waitsMs.filter((waitMs) => waitMs > 1_000).length;
	say(`one of two killed: ${waited} callbacks waited for more than a second`);
	const goal = { atMost: REACH.killedMs };
	return [{ what: "one of two killed: longest wait", value: Math.max(...waitsMs), unit: "ms", goal }];
}

/** Reports one sale of every shop as fast as possible, and then as many sales as a measurement has. */
async function warmUp(stage: Stage, urls: readonly string[]): Promise<void> {
	const pools = urls.map((url) => new Pool(url, { connections: CONNECTIONS }));
	const left = [...stage.shops];
	const report = async (pool: Pool): Promise<ReportedSale[]> => {
		const sales: ReportedSale[] = [];
		for (let next = left.pop(); next !== undefined; next = left.pop())
			sales.push(await reportSale(pool, next, `order-${stage.sales++}`));
		return sales;
	};
	const senders = pools.flatMap((pool) => Array.from({ length: CONNECTIONS }, () => report(pool)));
	const sales = (await Promise.all(senders)).flat();
	await Promise.all(pools.map((pool) => pool.close()));
	sales.push(...(await reportSales(stage, urls, stage.scale.warmUpSeconds)));
	await untilArrived(stage, sales);
}

/** Reports sales of random shops at a steady rate, to each service in turn, without waiting for answers. */
async function reportSales(stage: Stage, urls: readonly string[], seconds: number): Promise<ReportedSale[]> {
	const pools = urls.map((url) => new Pool(url, { connections: CONNECTIONS }));
	const random = createSeededRandom(stage.sales);
	const startedAt = performance.now();
	const reports: Promise<ReportedSale>[] = [];
	for (let i = 0; i < seconds * SALES_A_SECOND; i++) {
		const pool = pools[i % pools.length];
		if (pool === undefined) throw new Error("there is no service");
		await sleep(Math.max(0, startedAt + (i / SALES_A_SECOND) * 1_000 - performance.now()));
		reports.push(reportSale(pool, random.pick(stage.shops), `order-${stage.sales++}`));
	}
	const sales = await Promise.all(reports);
	await Promise.all(pools.map((pool) => pool.close()));
	return sales;
}

/** Returns for each conversion the time at which its first request reached the shop. */
async function untilArrived(
	{ receiver }: Stage,
	sales: readonly ReportedSale[],
): Promise<ReadonlyMap<string, number>> {
	const giveUpAt = performance.now() + STUCK_MS;
	while (true) {
		const { arrivals } = await receiver.report();
		const arrivedAtMs = new Map<string, number>();
		for (const { conversion, atMs } of arrivals) arrivedAtMs.getOrInsert(conversion, atMs);
		const missing = sales.filter(({ conversion }) => !arrivedAtMs.has(conversion)).length;
		if (missing === 0) {
			await receiver.forget();
			return arrivedAtMs;
		}
		if (performance.now() > giveUpAt) throw new Error(`${missing} of ${sales.length} callbacks never came`);
		await sleep(LOOK_MS);
	}
}

function ratioFigures(
	name: keyof typeof PERCENTILES,
	one: readonly FirstCallbacks[],
	two: readonly FirstCallbacks[],
): Figure[] {
	const millis = (what: string, waits: readonly (readonly number[])[]): Figure => {
		const rounds = waits.map((waitsMs) => percentile(waitsMs, PERCENTILES[name]));
		return { what: `${what}: ${name}`, value: least(rounds), unit: "ms", goal: null, rounds };
	};
	const since = (which: keyof FirstCallbacks, answers: readonly FirstCallbacks[]) =>
		answers.map((answer) => answer[which]);
	const withOne = millis("one process", since("sincePostMs", one));
	const withTwo = millis("two processes", since("sincePostMs", two));
	return [
		withOne,
		withTwo,
		{
			what: `two ÷ one: ${name}`,
			value: withTwo.value / withOne.value,
			unit: "",
			goal: { atMost: REACH.ratio },
		},
		millis("one process, from the answer", since("sinceAnswerMs", one)),
		millis("two processes, from the answer", since("sinceAnswerMs", two)),
	];
}
