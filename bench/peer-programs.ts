// The peers of W8, which are other job queues. Each entry has the peer's name, the programs that it needs on
// this machine, and how to run a round.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { runChild } from "./child-process.ts";
import { type PeerAnswer, peerArguments } from "./peer-drain.ts";
import { findRedis, withRedis } from "./redis.ts";
import type { Tools } from "./tools.ts";

export interface Peer {
	/** Name of the peer in the table of figures. */
	name: string;
	/** Name of the npm package, and of the program in bench/peers. */
	package: string;
	isOnPostgres: boolean;
	hasCap: boolean;
}

const PEERS: readonly Peer[] = [
	{ name: "pg-boss", package: "pg-boss", isOnPostgres: true, hasCap: true },
	{ name: "graphile-worker", package: "graphile-worker", isOnPostgres: true, hasCap: true },
	{ name: "BullMQ on PostgreSQL", package: "bullmq", isOnPostgres: true, hasCap: false },
	{ name: "BullMQ on Redis", package: "bullmq", isOnPostgres: false, hasCap: false },
];

/** Returns the peers that can run on this machine, and prints what to install for the others. */
export function findPeers(say: (line: string) => void): Peer[] {
	const redis = findRedis();
	return PEERS.filter(({ name, package: id, isOnPostgres }) => {
		if (!existsSync(join(import.meta.dirname, "peers/node_modules", id))) {
			say(`goes on without ${name}: run npm ci in bench/peers to install it`);
			return false;
		}
		if (!isOnPostgres && redis === undefined) {
			say(`goes on without ${name}: install redis-server (Debian: apt install redis-server)`);
			return false;
		}
		return true;
	});
}

export interface PeerRound {
	deliveries: number;
	programmes: number;
	/** Maximum number of requests in flight per shop, or null for no limit. */
	cap: number | null;
}

/** Runs one round of a peer on a database of its own. */
export async function runPeerRound(peer: Peer, round: PeerRound, tools: Tools): Promise<PeerAnswer> {
	const receiver = await tools.receiver();
	await receiver.forget();
	const answer = await tools.withDatabase("PostgreSQL", (postgresUrl) => {
		const run = (queueUrl: string): Promise<PeerAnswer> => {
			const { origin } = new URL(receiver.url(0));
			const options = { queueUrl, postgresUrl, origin, caFile: receiver.caFile, ...round };
			return runChild<PeerAnswer>(join("peers", `${peer.package}.ts`), peerArguments(options));
		};
		if (peer.isOnPostgres) return run(postgresUrl);
		return withRedis(findRedis() ?? "", tools.folder, run);
	});
	const { count } = await receiver.count();
	if (count !== round.deliveries) {
		throw new Error(`${peer.name}: ${count} requests for ${round.deliveries} deliveries`);
	}
	return answer;
}
