// W15 delivers callbacks to 2,000 shops with a host name and certificates of their own, to which no
// connection is open. The first callback of a shop needs a full TLS handshake, and later ones may resume the
// session. The limit is cold-loop.ts. A second part reports sales, alone and while callbacks are delivered.

import { runColdLoop } from "./cold-loop-process.ts";
import { type ColdReceiver, startColdReceiver } from "./cold-receiver-process.ts";
import { type Database, withStore } from "./database.ts";
import { untilStored } from "./drain.ts";
import { best, least, rate, ratio } from "./figures.ts";
import { type LoadAnswer, reportSales, writeShops } from "./load-process.ts";
import { cpuMicros } from "./process-cost.ts";
import { seedDue } from "./seed-due.ts";
import { receiverAt, type SeededShop, seedShops } from "./seed-shops.ts";
import type { ServiceProcess } from "./service-process.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

/** Number of connections of the loop. The service has as many requests in flight while it is busy. */
const CONNECTIONS = 64;
/** Requests of the loop before the measurement of full handshakes. */
const WARM_UP = 200;
const SALE_CONNECTIONS = 2;
const SALES_PER_SECOND = 50;
/** Maximum processor time of a delivery to a host whose session is resumed, in microseconds. */
const MOST_MICROS = 1_100;
/**
 * Minimum rate of the service as a share of the loop's rate. The service may be slower by a fifth at most.
 */
const REACH = 0.83;
const MAX_SALE_SLOWDOWN = 2;

interface ColdScale {
	hosts: number;
	/** Number of callbacks of each host. */
	passes: number;
	/** Number of sales that are reported without callbacks, and again beside callbacks. */
	sales: number;
	rounds: number;
}

interface ColdDrain {
	full: Served;
	resumed: Served;
}

interface Served {
	perSecond: number;
	/** Processor time of the service per delivery. */
	cpuMicros: number;
}

interface SalesBeside {
	alone: LoadAnswer;
	beside: LoadAnswer;
}

export const w15ColdHosts = defineWorkload<ColdScale>({
	name: "W15",
	title: "cold hosts",
	measures:
		"callbacks to 2,000 host names without an open connection ÷ a bare loop; sales beside them ÷ alone",
	scales: {
		full: { hosts: 2_000, passes: 4, sales: 500, rounds: 3 },
		short: { hosts: 500, passes: 4, sales: 100, rounds: 1 },
		smoke: { hosts: 20, passes: 2, sales: 20, rounds: 1 },
	},
	async run(scale, tools) {
		const receiver = await startColdReceiver(tools.folder, scale.hosts);
		try {
			return await measureAll(scale, receiver, tools);
		} finally {
			await receiver.stop();
		}
	},
});

async function measureAll(scale: ColdScale, receiver: ColdReceiver, tools: Tools): Promise<Figure[]> {
	const limits: ColdDrain[] = [];
	const drains: Record<Database, ColdDrain[]> = { SQLite: [], PostgreSQL: [] };
	const sales: Record<Database, SalesBeside[]> = { SQLite: [], PostgreSQL: [] };
	for (let round = 1; round <= scale.rounds; round++) {
		const limit = await measureLoop(scale, receiver, tools);
		limits.push(limit);
		tools.say(`round ${round} of ${scale.rounds}: bare loop ${describe(limit)}`);
		for (const kind of ["SQLite", "PostgreSQL"] as const) {
			const answer = await drainCold(kind, scale, receiver, tools);
			drains[kind].push(answer);
			tools.say(`round ${round} of ${scale.rounds}: ${kind} ${describe(answer)}`);
			const measured = await measureSales(kind, scale, receiver, tools);
			sales[kind].push(measured);
			tools.say(
				`round ${round} of ${scale.rounds}: ${kind} sales p99 ${measured.alone.p99Ms.toFixed(1)} ms, ` +
					`beside the callbacks ${measured.beside.p99Ms.toFixed(1)} ms`,
			);
		}
	}
	return [
		...servedFigures("bare loop", limits),
		...(["SQLite", "PostgreSQL"] as const).flatMap((kind) => [
			...servedFigures(kind, drains[kind]),
			...(["full", "resumed"] as const).map((mode) =>
				ratio(`${kind} ÷ bare loop, ${mode}`, bestOf(drains[kind], mode) / bestOf(limits, mode), {
					atLeast: REACH,
				}),
			),
			...saleFigures(kind, sales[kind]),
		]),
	];
}

async function measureLoop(
	{ hosts, passes }: ColdScale,
	{ urls, caFile }: ColdReceiver,
	{ folder, beginPhase }: Tools,
): Promise<ColdDrain> {
	await beginPhase();
	const loop = { urls, caFile, connections: Math.min(CONNECTIONS, hosts) };
	const requests = hosts * (passes - 1);
	const full = await runColdLoop(folder, { ...loop, warmUp: WARM_UP, requests: hosts, isResuming: false });
	const resumed = await runColdLoop(folder, { ...loop, warmUp: hosts, requests, isResuming: true });
	return { full, resumed };
}

/** Delivers the callbacks of all passes, and measures the first pass and the later ones. */
function drainCold(
	kind: Database,
	{ hosts, passes }: ColdScale,
	receiver: ColdReceiver,
	tools: Tools,
): Promise<ColdDrain> {
	return tools.withDatabase(kind, async (databaseUrl) => {
		await withStore(databaseUrl, async (store) => {
			const shops = await seedShops(store, hosts, (shop) => receiver.urls[shop] ?? "");
			await seedPasses(store, shops, passes);
		});
		await receiver.forget();
		await tools.beginPhase();
		const service = await startCold("worker", databaseUrl, receiver, tools);
		try {
			await receiver.until(1);
			const first = await mark(receiver, service);
			await receiver.until(hosts);
			const second = await mark(receiver, service);
			await receiver.until(hosts * passes);
			await untilStored(databaseUrl);
			const last = await mark(receiver, service);
			const { count, connections } = await receiver.report();
			if (count !== hosts * passes || connections < count)
				throw new Error(`${count} requests on ${connections} connections for ${hosts * passes} deliveries`);
			return { full: between(first, second), resumed: between(second, last) };
		} finally {
			await service.stop();
		}
	});
}

/**
 * Time between the due times of two passes. A pass is one callback for each host, and takes longer than this.
 */
const PASS_MS = 1_000;
/** Time before the first pass is due, in which the service starts. */
const LEAD_MS = 3_000;

async function seedPasses(
	store: Parameters<typeof seedDue>[0],
	shops: readonly SeededShop[],
	passes: number,
): Promise<void> {
	const firstDueAtMs = Date.now() + LEAD_MS;
	await seedDue(store, shops.length * passes, (number) => ({
		receiverId: receiverAt(shops, number),
		dueAtMs: firstDueAtMs + Math.floor(number / shops.length) * PASS_MS,
	}));
}

function startCold(
	role: "worker" | "all",
	databaseUrl: string,
	{ caFile, nameServer }: ColdReceiver,
	tools: Tools,
): Promise<ServiceProcess> {
	const more = { RINGBACK_DNS_SERVERS: nameServer, RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME: "1" };
	return tools.startService({ databaseUrl, caFile, role, more });
}

interface Mark {
	count: number;
	atMs: number;
	cpuMicros: number;
}

async function mark(receiver: ColdReceiver, { pid }: ServiceProcess): Promise<Mark> {
	const { count } = await receiver.report();
	return { count, atMs: performance.now(), cpuMicros: cpuMicros(pid) };
}

function between(from: Mark, to: Mark): Served {
	const requests = to.count - from.count;
	return {
		perSecond: requests / ((to.atMs - from.atMs) / 1_000),
		cpuMicros: (to.cpuMicros - from.cpuMicros) / requests,
	};
}

/** Reports sales at a steady rate, first alone, and then for the same time while callbacks are delivered. */
function measureSales(
	kind: Database,
	{ hosts, sales, passes }: ColdScale,
	receiver: ColdReceiver,
	tools: Tools,
): Promise<SalesBeside> {
	return tools.withDatabase(kind, async (databaseUrl) => {
		const { shops, caller } = await withStore(databaseUrl, async (store) => ({
			shops: await seedShops(store, hosts, (shop) => receiver.urls[shop] ?? ""),
			caller: await seedShops(store, 1, () => receiver.urls[0] ?? ""),
		}));
		const shopsFile = writeShops(tools.folder, caller);
		await tools.beginPhase();
		const service = await startCold("all", databaseUrl, receiver, tools);
		const report = (): Promise<LoadAnswer> =>
			reportSales(service.url, shopsFile, sales, {
				connections: SALE_CONNECTIONS,
				perSecond: SALES_PER_SECOND,
			});
		try {
			await report();
			const alone = await report();
			await withStore(databaseUrl, async (store) => {
				await seedPasses(store, shops, passes);
				store.announceRecheck();
			});
			await receiver.forget();
			await receiver.until(SALE_CONNECTIONS);
			const beside = await report();
			const { count } = await receiver.report();
			tools.say(`${kind}: ${count} callbacks beside ${sales} sales`);
			return { alone, beside };
		} finally {
			await service.stop();
		}
	});
}

function servedFigures(what: string, drains: readonly ColdDrain[]): Figure[] {
	return (["full", "resumed"] as const).flatMap((mode) => [
		rate(
			`${what}, ${mode}`,
			drains.map((drain) => drain[mode].perSecond),
		),
		{
			what: `${what}, ${mode}: processor time`,
			value: least(drains.map((drain) => drain[mode].cpuMicros)),
			unit: "µs",
			goal: mode === "resumed" && what !== "bare loop" ? { atMost: MOST_MICROS } : null,
			rounds: drains.map((drain) => drain[mode].cpuMicros),
		} as const,
	]);
}

function saleFigures(kind: Database, measured: readonly SalesBeside[]): Figure[] {
	const p99 = (which: keyof SalesBeside) => least(measured.map((one) => one[which].p99Ms));
	return [
		{ what: `${kind}: p99 of a sale alone`, value: p99("alone"), unit: "ms", goal: null },
		{ what: `${kind}: p99 of a sale beside the callbacks`, value: p99("beside"), unit: "ms", goal: null },
		ratio(`${kind}: p99 of a sale beside ÷ alone`, p99("beside") / p99("alone"), {
			atMost: MAX_SALE_SLOWDOWN,
		}),
	];
}

function bestOf(drains: readonly ColdDrain[], mode: keyof ColdDrain): number {
	return best(drains.map((drain) => drain[mode].perSecond));
}

function describe({ full, resumed }: ColdDrain): string {
	const words = ({ perSecond, cpuMicros: micros }: Served) =>
		`${Math.round(perSecond)} a second (${Math.round(micros)} µs)`;
	return `${words(full)}, resumed ${words(resumed)}`;
}
