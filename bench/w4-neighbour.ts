// W4 has one shop or partner that never answers, with tens of thousands of due deliveries, and 99 healthy shops that get
// callbacks at a steady rate. It measures the wait of the healthy shops, from the due time until the callback
// reaches the shop, compared with the same load without the hanging receiver.

import type { ReceiverKind } from "#core/domain/receiver.ts";
import { type Database, withStore } from "./database.ts";
import { percentile } from "./figures.ts";
import { type Receiver, startReceiver } from "./receiver-process.ts";
import { conversionName, seedDue } from "./seed-due.ts";
import { seedCalledPartners } from "./seed-partners.ts";
import { receiverAt, seedShops } from "./seed-shops.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

const HEALTHY = 99;
const REACH = 1.3;
/** Length of a time step. Deliveries that are due within one step are written together. */
const STEP_MS = 20;
const FIRST_STUCK_NUMBER = 10_000_000;

interface NeighbourScale {
	/** Number of due deliveries of the receiver that never answers. */
	stuck: number;
	/** Number of deliveries of each healthy shop. */
	each: number;
	/** Time between two deliveries of a healthy shop. */
	gapMs: number;
	/**
	 * Time that is added before the first healthy delivery is due, because writing the deliveries takes a
	 * while.
	 */
	leadMs: number;
	rounds: number;
}

export const w4Neighbour = defineWorkload<NeighbourScale>({
	name: "W4",
	title: "neighbour",
	measures:
		"one shop or partner swallows requests with 50,000 due, 99 shops are healthy: their p99 wait ÷ the same without it",
	scales: {
		full: { stuck: 50_000, each: 200, gapMs: 100, leadMs: 10_000, rounds: 3 },
		short: { stuck: 2_000, each: 20, gapMs: 200, leadMs: 3_000, rounds: 1 },
		smoke: { stuck: 20, each: 2, gapMs: 100, leadMs: 2_000, rounds: 1 },
	},
	async run(scale, tools) {
		const figures: Figure[] = [];
		for (const kind of ["SQLite", "PostgreSQL"] as const) {
			const alone: number[] = [];
			const beside: Record<ReceiverKind, number[]> = { shop: [], partner: [] };
			for (let round = 1; round <= scale.rounds; round++) {
				alone.push((await measureWaits(kind, { ...scale, stuck: 0 }, "shop", tools)).p99Ms);
				for (const stuckKind of ["shop", "partner"] as const) {
					beside[stuckKind].push((await measureWaits(kind, scale, stuckKind, tools)).p99Ms);
				}
			}
			const wait = (what: string, rounds: readonly number[]): Figure => ({
				what: `${kind}: ${what}`,
				value: Math.min(...rounds),
				unit: "ms",
				goal: null,
				rounds,
			});
			figures.push(wait("p99 wait without it", alone));
			for (const stuckKind of ["shop", "partner"] as const) {
				figures.push(wait(`p99 wait beside a ${stuckKind}`, beside[stuckKind]), {
					what: `${kind}: beside a ${stuckKind} ÷ without`,
					value: Math.min(...beside[stuckKind]) / Math.min(...alone),
					unit: "",
					goal: { atMost: REACH },
				});
			}
		}
		return figures;
	},
});

async function measureWaits(
	kind: Database,
	scale: NeighbourScale,
	stuckKind: ReceiverKind,
	tools: Tools,
): Promise<{ p99Ms: number }> {
	const receiver = await startReceiver(tools.folder, "watch");
	try {
		return await tools.withDatabase(kind, (databaseUrl) =>
			waitOn(databaseUrl, receiver, scale, stuckKind, tools),
		);
	} finally {
		await receiver.stop();
	}
}

async function waitOn(
	databaseUrl: string,
	receiver: Receiver,
	scale: NeighbourScale,
	stuckKind: ReceiverKind,
	tools: Tools,
) {
	const { stuck, each, gapMs, leadMs } = scale;
	const startTookMs = await timeStart(databaseUrl, receiver, tools);
	const startsAtMs = await withStore(databaseUrl, async (store) => {
		const shops = await seedShops(store, HEALTHY + 1, (shop) =>
			receiver.url(shop === HEALTHY ? `${shop}/swallow` : shop),
		);
		const swallow = () => receiver.url(`${HEALTHY}/swallow`);
		const isForPartner = stuckKind === "partner";
		const [partner] = isForPartner ? await seedCalledPartners(store, shops.slice(-1), swallow) : [];
		const nowMs = Date.now();
		const receiverId = partner ?? receiverAt(shops, HEALTHY);
		const stuckDue = () => ({ receiverId, dueAtMs: nowMs - 1_000, isForPartner });
		await seedDue(store, stuck, stuckDue, { firstNumber: FIRST_STUCK_NUMBER });
		const firstAtMs = Date.now() + leadMs + Math.ceil(2 * startTookMs);
		await seedDue(store, HEALTHY * each, (number) => ({
			receiverId: receiverAt(shops, number % HEALTHY),
			dueAtMs: dueAt(firstAtMs, number, gapMs),
		}));
		return firstAtMs;
	});
	const service = await tools.startService({ databaseUrl, caFile: receiver.caFile, role: "worker" });
	try {
		if (Date.now() > startsAtMs) throw new Error("the machine is too busy: the service started late");
		const number = HEALTHY * each;
		await receiver.until(number);
		let report = await receiver.report();
		const healthy = () => report.arrivals.filter(({ shop }) => shop !== String(HEALTHY));
		while (healthy().length < number) report = await receiver.report();
		const due = new Map(
			Array.from({ length: number }, (_, at) => [conversionName(at + 1), dueAt(startsAtMs, at, gapMs)]),
		);
		const waits = healthy().map(({ conversion, atMs }) => atMs - (due.get(conversion) ?? Number.NaN));
		tools.say(
			`p50 ${percentile(waits, 0.5).toFixed(1)} ms, p99 ${percentile(waits, 0.99).toFixed(1)} ms, ${stuck} stuck`,
		);
		return { p99Ms: percentile(waits, 0.99) };
	} finally {
		await service.stop();
	}
}

async function timeStart(databaseUrl: string, { caFile }: Receiver, tools: Tools): Promise<number> {
	const startedAt = performance.now();
	const service = await tools.startService({ databaseUrl, caFile, role: "worker" });
	await service.stop();
	return performance.now() - startedAt;
}

/**
 * Returns the due time of a delivery. Between two deliveries of one shop, every other shop gets one delivery.
 */
function dueAt(firstAtMs: number, number: number, gapMs: number): number {
	return firstAtMs + Math.floor((number * gapMs) / HEALTHY / STEP_MS) * STEP_MS;
}
