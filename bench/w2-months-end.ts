// W2 approves recorded conversions whose approval windows end at the same time, and delivers their callbacks.
// It is compared with the "bare loop" (bare-loop.ts), which only signs and posts. Two more measurements have
// a partner for each conversion, and 2,000 shops with a host name each.

import { runBareLoop } from "./bare-loop-process.ts";
import { startColdReceiver } from "./cold-receiver-process.ts";
import { type Database, withStore } from "./database.ts";
import { drain, untilStored } from "./drain.ts";
import { best, least, rate, ratio } from "./figures.ts";
import { cpuMicros } from "./process-cost.ts";
import { seedOpenConversions } from "./seed-open-conversions.ts";
import { seedCalledPartners } from "./seed-partners.ts";
import { seedShops } from "./seed-shops.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload } from "./workload.ts";

const PROGRAMMES = 100;
const REACH = 0.6;
/** Least rate of deliveries with callbacks to partners, compared with the rate without. */
const REACH_WITH_PARTNERS = 0.9;

interface MonthsEndScale {
	conversions: number;
	/** Number of shops with a host name of their own. */
	hosts: number;
	conversionsOfHosts: number;
	rounds: number;
}

export const w2MonthsEnd = defineWorkload<MonthsEndScale>({
	name: "W2",
	title: "month's end",
	measures: "200,000 conversions pass their approval window at once: approve, owe, deliver ÷ the bare loop",
	scales: {
		full: { conversions: 200_000, hosts: 2_000, conversionsOfHosts: 20_000, rounds: 3 },
		short: { conversions: 8_000, hosts: 500, conversionsOfHosts: 2_000, rounds: 1 },
		smoke: { conversions: 200, hosts: 20, conversionsOfHosts: 40, rounds: 1 },
	},
	async run({ conversions, hosts, conversionsOfHosts, rounds }, tools) {
		const receiver = await tools.receiver();
		const bare: number[] = [];
		const rates: Record<Database, number[]> = { SQLite: [], PostgreSQL: [] };
		const withPartners: Record<Database, number[]> = { SQLite: [], PostgreSQL: [] };
		const cold: Record<Database, ColdAnswer[]> = { SQLite: [], PostgreSQL: [] };
		for (let round = 1; round <= rounds; round++) {
			bare.push((await runBareLoop(receiver, conversions)).perSecond);
			for (const kind of ["SQLite", "PostgreSQL"] as const) {
				const perSecond = await measureOn(kind, conversions, false, tools);
				rates[kind].push(perSecond);
				const both = await measureOn(kind, conversions, true, tools);
				withPartners[kind].push(both);
				const ofHosts = await measureCold(kind, hosts, conversionsOfHosts, tools);
				cold[kind].push(ofHosts);
				const words =
					`${Math.round(perSecond)} a second, with partners ${Math.round(both)}, ` +
					`cold hosts ${Math.round(ofHosts.perSecond)} (${Math.round(ofHosts.cpuMicros)} µs)`;
				tools.say(`round ${round} of ${rounds}: ${kind} ${words}`);
			}
		}
		return [
			rate("bare loop (the limit)", bare),
			...(["SQLite", "PostgreSQL"] as const).flatMap((kind) => [
				rate(kind, rates[kind]),
				ratio(`${kind} ÷ bare loop`, best(rates[kind]) / best(bare), { atLeast: REACH }),
				rate(`${kind}, with callbacks to partners`, withPartners[kind]),
				ratio(
					`${kind}: with ÷ without partners, per delivery`,
					best(withPartners[kind]) / best(rates[kind]),
					{
						atLeast: REACH_WITH_PARTNERS,
					},
				),
				rate(
					`${kind}, cold hosts`,
					cold[kind].map(({ perSecond }) => perSecond),
				),
				{
					what: `${kind}, cold hosts: processor time of the service`,
					value: least(cold[kind].map((answer) => answer.cpuMicros)),
					unit: "µs",
					goal: null,
				} as const,
			]),
		];
	},
});

function measureOn(kind: Database, conversions: number, hasPartners: boolean, tools: Tools): Promise<number> {
	return tools.withDatabase(kind, async (databaseUrl) => {
		const receiver = await tools.receiver();
		await withStore(databaseUrl, async (store) => {
			const shops = await seedShops(store, PROGRAMMES, receiver.url);
			await seedOpenConversions(store, conversions, shops, Date.now() - 1_000);
			if (hasPartners) await seedCalledPartners(store, shops, receiver.url);
		});
		const deliveries = hasPartners ? 2 * conversions : conversions;
		const { perSecond } = await drain({ databaseUrl, receiver, deliveries, tools });
		return perSecond;
	});
}

interface ColdAnswer {
	perSecond: number;
	/** Processor time of the service per conversion, not counting its start. */
	cpuMicros: number;
}

/** Measures the month's end of shops with a host name each, which close every connection after an answer. */
async function measureCold(
	kind: Database,
	hosts: number,
	conversions: number,
	tools: Tools,
): Promise<ColdAnswer> {
	const receiver = await startColdReceiver(tools.folder, hosts);
	try {
		return await tools.withDatabase(kind, async (databaseUrl) => {
			await withStore(databaseUrl, async (store) => {
				const shops = await seedShops(store, hosts, (shop) => receiver.urls[shop] ?? "");
				await seedOpenConversions(store, conversions, shops, Date.now() - 1_000);
			});
			await tools.beginPhase();
			const { caFile, nameServer } = receiver;
			const more = { RINGBACK_DNS_SERVERS: nameServer };
			const service = await tools.startService({ databaseUrl, caFile, role: "worker", more });
			try {
				const { count: before } = await receiver.until(1);
				const cpuBefore = cpuMicros(service.pid);
				const startedAt = performance.now();
				await receiver.until(conversions);
				await untilStored(databaseUrl);
				const deliveries = conversions - before;
				return {
					perSecond: deliveries / ((performance.now() - startedAt) / 1_000),
					cpuMicros: (cpuMicros(service.pid) - cpuBefore) / deliveries,
				};
			} finally {
				await service.stop();
			}
		});
	} finally {
		await receiver.stop();
	}
}
