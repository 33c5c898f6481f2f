// W13 reports a few sales of many shops on PostgreSQL, to one delivering process and then to two in turn. It
// measures the time from posting a sale until its callback reaches the shop, which is often earlier than the
// answer. At the end, one of the two processes is killed under the same load.

import { setTimeout as sleep } from "node:timers/promises";
import { withStore } from "./database.ts";
import { least, percentile } from "./figures.ts";
import { type Receiver, startReceiver } from "./receiver-process.ts";
import { nowMs, type ReportedSale } from "./sale.ts";
import { type SeededShop, seedShops } from "./seed-shops.ts";
import type { ServiceProcess } from "./service-process.ts";
import { reportOneOfEach, reportSteadily, untilArrived } from "./steady-sales.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const REACH = { ratio: 1.5, killedMs: 20_000 } as const;
const PERCENTILES = { p50: 0.5, p95: 0.95 } as const;
const SALES_A_SECOND = 30;

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
	nextOrderId: () => string;
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
				let orders = 0;
				const nextOrderId = (): string => `order-${orders++}`;
				return measureAll({ databaseUrl, receiver, shops, scale, tools, nextOrderId });
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
	const arrivedAtMs = await untilArrived(stage.receiver, sales);
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
	const arrivedAtMs = await untilArrived(stage.receiver, sales);
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
	const { receiver, shops, nextOrderId, scale } = stage;
	const sales = await reportOneOfEach({ urls, shops, nextOrderId });
	sales.push(...(await reportSales(stage, urls, scale.warmUpSeconds)));
	await untilArrived(receiver, sales);
}

function reportSales(
	{ shops, nextOrderId }: Stage,
	urls: readonly string[],
	seconds: number,
): Promise<ReportedSale[]> {
	const count = seconds * SALES_A_SECOND;
	return reportSteadily({ urls, shops, nextOrderId, perSecond: SALES_A_SECOND, count });
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
