// `npm run crash` runs rounds of crashes against real services. Each round has its own seed, so that a failed one can
// be run again alone.

import { randomInt } from "node:crypto";
import { makeCertificates } from "../../demo/certificate.ts";
import { findDiskWays } from "../support/full-disk.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { BrokenPromise, type Progress, type Proof, zeros } from "../support/proof.ts";
import { describeRound, drawRound, KINDS, type Kind, kindOf } from "./plan.ts";
import { type RoundReport, runRound, type SharedParts } from "./round.ts";

export interface CrashRun {
	rounds: number;
	seed: number;
	/** Kind of the rounds. Null to run all kinds in turn, by the seed. */
	kind: Kind | null;
}

const COUNTED = [
	"answered",
	"refused",
	"broken",
	"owed",
	"arrived",
	"reached",
	"retried",
	"duplicates",
	"hit",
	"starts",
	"stops",
	"kills",
	"movedSlots",
	"takenOver",
	"entries",
	"statements",
	"interruptions",
] as const satisfies readonly (keyof RoundReport)[];

/** Figures of which the summary shows the maximum. */
const HIGHEST = [
	"mostAtOnce",
	"longestWaitMs",
	"longestGapMs",
] as const satisfies readonly (keyof RoundReport)[];

export type Tally = Record<(typeof COUNTED)[number] | (typeof HIGHEST)[number], number> & { rounds: number };

export interface CrashTally {
	byKind: ReadonlyMap<Kind, Tally>;
	/** Number of times that the disk was filled in each way. */
	diskWays: ReadonlyMap<string, number>;
	/** Number of rounds that this machine cannot run. */
	leftOut: number;
}

const MAX_SEED = 2 ** 31 - 1;

export const crashProof: Proof = {
	name: "crash",
	summary:
		"Kills and restarts services, restarts PostgreSQL and fills the disk at random moments, and checks that every answer, row and request agrees.",
	options: {
		rounds: { value: "N", help: "number of rounds", preset: 100, least: 1 },
		seed: {
			value: "S",
			help: "seed of the first round; each further round has the next one (random by default)",
			preset: null,
		},
		kind: {
			value: "K",
			help: `only rounds of this kind: ${KINDS.map((kind, index) => `${index + 1} ${kind}`).join(", ")}`,
			preset: null,
			least: 1,
			most: KINDS.length,
		},
	},
	async run(options, progress) {
		const chosen = options["kind"] ?? null;
		const kind = chosen === null ? null : (KINDS[chosen - 1] ?? null);
		const seed = options["seed"] ?? randomInt(MAX_SEED);
		return describeTally(seed, await runCrashes({ rounds: options["rounds"] ?? 1, seed, kind }, progress));
	},
};

export async function runCrashes({ rounds, seed, kind }: CrashRun, progress: Progress): Promise<CrashTally> {
	const byKind = new Map<Kind, Tally>();
	const diskWays = new Map<string, number>();
	let leftOut = 0;
	const { shared, close } = await openShared();
	try {
		for (let round = 0; round < rounds; round++) {
			const roundSeed = (seed + round) % MAX_SEED;
			const plan = drawRound(roundSeed, kind ?? kindOf(roundSeed));
			progress(`round ${round + 1} of ${rounds}, ${plan.kind}, seed ${roundSeed}`);
			if (plan.kind === "disk-full" && shared.diskWays.length === 0) {
				leftOut++;
				continue;
			}
			const report = await runRound(plan, shared).catch((error: unknown) => {
				const replay = `npm run crash -- --rounds 1 --seed ${roundSeed} --kind ${KINDS.indexOf(plan.kind) + 1}`;
				throw new BrokenPromise(`round ${round + 1} (${describeRound(plan)})`, replay, error);
			});
			addToTally(byKind, plan.kind, report);
			if (report.diskWay !== null) diskWays.set(report.diskWay, (diskWays.get(report.diskWay) ?? 0) + 1);
		}
	} finally {
		await close();
	}
	return { byKind, diskWays, leftOut };
}

async function openShared(): Promise<{ shared: SharedParts; close: () => Promise<void> }> {
	let server: Promise<PostgresServer> | undefined;
	const shared: SharedParts = {
		certificates: await makeCertificates({ names: ["127.0.0.1"] }),
		// This proof needs a server of its own, because it restarts the server. Syncing is off. There is no power
		// cut, so data that a killed server has written is safe in the system's cache, and syncing would only add
		// seconds to each recovery.
		postgres: () => {
			server ??= startPostgres({ settings: { fsync: "off" } });
			return server;
		},
		diskWays: await findDiskWays(),
	};
	return { shared, close: async () => (await server)?.stop() };
}

function addToTally(byKind: Map<Kind, Tally>, kind: Kind, report: RoundReport): void {
	const tally = byKind.get(kind) ?? { rounds: 0, ...zeros(COUNTED), ...zeros(HIGHEST) };
	tally.rounds++;
	for (const name of COUNTED) tally[name] += report[name];
	for (const name of HIGHEST) tally[name] = Math.max(tally[name], report[name]);
	byKind.set(kind, tally);
}

export function describeTally(seed: number, { byKind, diskWays, leftOut }: CrashTally): string {
	const kinds = [...byKind].map(
		([kind, tally]) =>
			`${tally.rounds} ${kind} (${tally.answered} answered, ${tally.refused} refused, ${tally.broken} broken off, ` +
			`${tally.owed} events owed, ${tally.reached} reached the shop in ${tally.arrived} requests, ` +
			`${tally.retried} retried, lost 0, ${tally.duplicates} doubled of ${tally.hit} that a kill may have hit; ` +
			`${tally.starts} starts, ${tally.stops} clean stops, ${tally.kills} kills, ` +
			`${tally.movedSlots} slots passed on, ${tally.takenOver} engines taken over under load; ` +
			`${tally.entries} entries, ${tally.statements} statements, ${tally.interruptions} kills before all were issued; ` +
			`at most ${tally.mostAtOnce} requests at a shop, ${Math.round(tally.longestWaitMs)} ms from answer to callback, ` +
			`${Math.round(tally.longestGapMs)} ms without one)`,
	);
	const ways = [...diskWays].map(([way, count]) => `disk full by ${way}: ${count}`);
	const missing =
		leftOut === 0
			? []
			: [`disk full: ${leftOut} rounds left out, because this machine has no way to fill a disk`];
	return [`seed ${seed}`, ...kinds, ...ways, ...missing].join("; ");
}
