// W8 does the work of W1 with well-known job queues, each tuned as its documentation recommends. They use the
// same signing, client, receiver and PostgreSQL, and store attempts in the same table in batches. The sides
// alternate: SQLite, PostgreSQL, each peer, each peer with a limit per shop, SQLite, and so on.

import type { Database } from "./database.ts";
import { best, rate, ratio } from "./figures.ts";
import { findPeers, runPeerRound } from "./peer-programs.ts";
import { type DrainScale, drainOn, PROGRAMMES } from "./w1-drain.ts";
import { defineWorkload, type Figure, type Goal } from "./workload.ts";

/**
 * Limit of requests in flight per shop. It is the default of the service (config.ts), which always applies
 * it.
 */
const CAP = 8;

interface Side {
	name: string;
	isOnPostgres: boolean;
	hasCap: boolean;
	run(): Promise<{ perSecond: number }>;
}

export const w8Peers = defineWorkload<DrainScale>({
	name: "W8",
	title: "peers",
	measures: "W1 beside pg-boss, graphile-worker and BullMQ, which are installed with npm ci in bench/peers",
	scales: {
		full: { deliveries: 60_000, rounds: 3 },
		short: { deliveries: 5_000, rounds: 1 },
		smoke: { deliveries: 200, rounds: 1 },
	},
	async run({ deliveries, rounds }, tools) {
		const found = findPeers(tools.say);
		const size = { deliveries, programmes: PROGRAMMES };
		const peers: Side[] = [
			...found.map((peer) => ({
				...peer,
				hasCap: false,
				run: () => runPeerRound(peer, { ...size, cap: null }, tools),
			})),
			...found
				.filter(({ hasCap }) => hasCap)
				.map((peer) => ({
					...peer,
					name: `${peer.name}, ${CAP} a shop`,
					run: () => runPeerRound(peer, { ...size, cap: CAP }, tools),
				})),
		];
		const ours = (["SQLite", "PostgreSQL"] as const).map((kind) => ({
			name: `Ringback on ${kind}, ${CAP} a shop`,
			kind,
			run: () => drainOn(kind, tools, deliveries),
		}));
		const rates = new Map<string, number[]>();
		for (let round = 1; round <= rounds; round++) {
			for (const { name, run } of [...ours, ...peers]) {
				const { perSecond } = await run();
				rates.set(name, [...(rates.get(name) ?? []), perSecond]);
				tools.say(`round ${round} of ${rounds}: ${name} ${Math.round(perSecond)} a second`);
			}
		}
		const bestOf = (name: string): number => best(rates.get(name) ?? []);
		const compare = (kind: Database, what: string, beside: readonly Side[], goal: Goal): Figure[] => {
			const our = ours.find((one) => one.kind === kind);
			if (our === undefined || beside.length === 0) return [];
			const fastest = best(beside.map(({ name }) => bestOf(name)));
			return [ratio(`${kind} ÷ ${what}`, bestOf(our.name) / fastest, goal)];
		};
		const onPostgres = peers.filter(({ isOnPostgres, hasCap }) => isOnPostgres && !hasCap);
		const capped = peers.filter(({ hasCap }) => hasCap);
		return [
			...[...rates].map(([name, perRound]) => rate(name, perRound)),
			...compare("PostgreSQL", "the fastest peer on PostgreSQL", onPostgres, { atLeast: 1.2 }),
			...compare("SQLite", "the fastest peer", peers, { atLeast: 1 }),
			...compare("PostgreSQL", "the fastest peer with a cap", capped, { atLeast: 1.5 }),
		];
	},
});
