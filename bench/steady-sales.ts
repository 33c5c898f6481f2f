// Reports sales at a steady rate and finds out when each callback reached its shop. The receiver must have been started with
// "watch".

import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { createSeededRandom } from "../test/support/seeded-random.ts";
import type { Receiver } from "./receiver-process.ts";
import { type ReportedSale, reportSale } from "./sale.ts";
import type { SeededShop } from "./seed-shops.ts";

/**
 * Number of connections to each service. It is higher than the number of calls in flight, so that no call waits for
 * another.
 */
const CONNECTIONS = 16;
const LOOK_MS = 200;
/** Time after which a callback counts as lost. No callback may wait this long. */
const STUCK_MS = 90_000;
/** Seed of the random order of shops, so that all measurements have the same one. */
const SEED = 1;

export interface SteadySales {
	/** URLs of the services to which the sales are reported in turn. */
	urls: readonly string[];
	shops: readonly SeededShop[];
	perSecond: number;
	count: number;
	/** Returns an order id that was not used before. */
	nextOrderId(): string;
}

/** Reports sales of random shops at a steady rate, without waiting for answers. */
export async function reportSteadily(sales: SteadySales): Promise<ReportedSale[]> {
	const { urls, shops, perSecond, count, nextOrderId } = sales;
	const pools = openPools(urls);
	const random = createSeededRandom(SEED);
	const startedAt = performance.now();
	const reports: Promise<ReportedSale>[] = [];
	for (let i = 0; i < count; i++) {
		const pool = pools[i % pools.length];
		if (pool === undefined) throw new Error("there is no service");
		await sleep(Math.max(0, startedAt + (i / perSecond) * 1_000 - performance.now()));
		reports.push(reportSale(pool, random.pick(shops), nextOrderId()));
	}
	const reported = await Promise.all(reports);
	await closePools(pools);
	return reported;
}

/** Reports one sale of every shop as fast as the services answer. */
export async function reportOneOfEach({
	urls,
	shops,
	nextOrderId,
}: Pick<SteadySales, "urls" | "shops" | "nextOrderId">): Promise<ReportedSale[]> {
	const pools = openPools(urls);
	const left = [...shops];
	const report = async (pool: Pool): Promise<ReportedSale[]> => {
		const sales: ReportedSale[] = [];
		for (let shop = left.pop(); shop !== undefined; shop = left.pop())
			sales.push(await reportSale(pool, shop, nextOrderId()));
		return sales;
	};
	const senders = pools.flatMap((pool) => Array.from({ length: CONNECTIONS }, () => report(pool)));
	const reported = (await Promise.all(senders)).flat();
	await closePools(pools);
	return reported;
}

/** Returns for each conversion the time at which its first request reached the shop. */
export async function untilArrived(
	receiver: Receiver,
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

function openPools(urls: readonly string[]): Pool[] {
	return urls.map((url) => new Pool(url, { connections: CONNECTIONS }));
}

async function closePools(pools: readonly Pool[]): Promise<void> {
	await Promise.all(pools.map((pool) => pool.close()));
}
