// `npm run load`: intake at the rate the machine holds, while callbacks drain to shops of which a tenth hang.
// No error, no growth of memory, no loss.

import { randomInt } from "node:crypto";
import { setTimeout as timePasses } from "node:timers/promises";
import { SECOND_MS } from "../../src/domain/time.ts";
import { BrokenPromise, type Progress, type Proof } from "../support/proof.ts";
import { judgeGrowth } from "./growth.ts";
import { type Intake, startIntake } from "./intake.ts";
import { openLiveHeap } from "./live-heap.ts";
import { findLosses } from "./losses.ts";
import { type Sample, type Watch, watchMetrics } from "./metrics.ts";
import {
	describeBytes,
	describeGrowth,
	describeReplay,
	describeReport,
	judgeLatency,
	type LoadOptions,
	type LoadReport,
} from "./report.ts";
import { openSetup, type Setup } from "./setup.ts";

const SHOPS = 20;
const HANGING = 2;
/** What is under way differs from one moment to the next; a run of five minutes stays well within. */
const LIVE_MAY_GROW_BYTES = 4_000_000;
/** Garbage that nobody has collected yet comes and goes by tens of megabytes. */
const RESIDENT_MAY_GROW_BYTES = 64_000_000;
/** On a machine that stands still now and then, a short run goes on until there are so many. */
const MIN_LIVE_SAMPLES = 9;
/** On a machine this busy a healthy shop may miss its five seconds once: it gets the callback a minute later. */
const DRAIN_SECONDS = 90;
/** More than that is not the machine's doing. */
const MAX_RETRYING_SHARE = 0.05;
/** The rest of a hanging shop's backlog waits in the database: in memory there is what is in flight. */
const MAX_IN_HAND_PER_HANGING_SHOP = 8;
const POLL_MS = 50;

export const loadProof: Proof = {
	name: "load",
	summary: "Loads a real service as far as the machine goes while a tenth of its shops hang.",
	options: {
		seconds: { value: "N", help: "how long reports come in", preset: 300, least: 1 },
		seed: { value: "S", help: "the same reports in the same order", preset: null },
		postgres: { value: "0|1", help: "1 for PostgreSQL instead of an SQLite file", preset: 0, most: 1 },
	},
	async run({ seconds, seed, postgres }, progress) {
		const options = {
			seconds: seconds ?? 1,
			seed: seed ?? randomInt(2 ** 31),
			usesPostgres: postgres === 1,
			drainSeconds: DRAIN_SECONDS,
		};
		return describeReport(await runLoad(options, progress), options);
	},
};

export async function runLoad(options: LoadOptions, progress: Progress): Promise<LoadReport> {
	await using cleaning = new AsyncDisposableStack();
	const setup = await openSetup(options.usesPostgres ? "PostgreSQL" : "SQLite", cleaning, {
		shops: SHOPS,
		hanging: HANGING,
	});
	try {
		const report = await runOver(setup, options, progress);
		checkReport(report, options);
		return report;
	} catch (error) {
		const reason = error instanceof Error ? error.message : String(error);
		throw new BrokenPromise(reason, describeReplay(options), error);
	}
}

async function runOver(setup: Setup, options: LoadOptions, progress: Progress): Promise<LoadReport> {
	const liveHeap = await openLiveHeap(setup.inspectorUrl);
	const startedMs = performance.now();
	const intake = startIntake(setup.serviceUrl, setup.accounts, options.seed);
	const watch = watchMetrics({
		metricsUrl: setup.metricsUrl,
		liveHeap,
		loadMs: options.seconds * SECOND_MS,
		onSample: (sample) => progress(describeSample(sample, intake)),
	});
	const over = new AbortController();
	try {
		const enough = runIsLongEnough(watch, options.seconds * SECOND_MS, over.signal);
		await Promise.race([intake.done, watch.done, enough]);
	} finally {
		over.abort();
		await Promise.all([intake.stop(), watch.stop()]);
	}
	const tookSeconds = (performance.now() - startedMs) / SECOND_MS;
	const drainSeconds = await drain(setup, intake, watch, options.drainSeconds * SECOND_MS);
	// First: a process does not end while somebody inspects it.
	liveHeap.close();
	await stopService(setup);
	const arrivals = await setup.shops.arrivals();
	const losses = await setup.withWorkplace(({ store }) =>
		findLosses(store.db, setup.accounts, intake.answered, arrivals, setup.shops.hanging),
	);
	const residentSizes = watch.samples.map(({ residentBytes }) => residentBytes);
	return {
		calls: intake.latenciesMs.length,
		callsASecond: intake.latenciesMs.length / tookSeconds,
		latency: judgeLatency(intake.latenciesMs),
		drainSeconds,
		live: judgeGrowth(liveSizesOf(watch), LIVE_MAY_GROW_BYTES),
		resident: judgeGrowth(residentSizes, RESIDENT_MAY_GROW_BYTES),
		losses,
	};
}

/** Gives up with the run: a timer that nobody waits for would keep the process. */
async function runIsLongEnough(watch: Watch, loadMs: number, signal: AbortSignal): Promise<void> {
	await timePasses(loadMs, undefined, { signal });
	while (liveSizesOf(watch).length < MIN_LIVE_SAMPLES) await timePasses(POLL_MS, undefined, { signal });
}

function liveSizesOf({ samples }: Watch): number[] {
	return samples.flatMap(({ liveBytes }) => liveBytes ?? []);
}

function checkReport(report: LoadReport, options: LoadOptions): void {
	const { losses, live, resident } = report;
	if (losses.findings.length > 0) throw new Error(`something is lost:\n${losses.findings.join("\n")}`);
	if (losses.retrying > losses.delivered * MAX_RETRYING_SHARE) {
		throw new Error(`too much is not delivered yet: ${describeReport(report, options)}`);
	}
	for (const [what, growth] of Object.entries({ "the live heap": live, "the resident size": resident })) {
		if (!growth.isGrowing) continue;
		const limit = describeBytes(growth.mayGrowBytes);
		throw new Error(
			`${what} grows by more than ${limit}: ${describeGrowth(growth)} (${describeReport(report, options)})`,
		);
	}
}

/**
 * Until every event of a shop that answers is stored as delivered, or the time for it is over: what is left then
 * is judged with the losses. From that moment only the shops that hang have anything in memory.
 */
async function drain(setup: Setup, intake: Intake, watch: Watch, limitMs: number): Promise<number> {
	const { hanging } = setup.shops;
	const owed = intake.answered.slice(hanging).reduce((sum, { events }) => sum + events.size, 0);
	const startedMs = performance.now();
	for (;;) {
		const { delivered, inHand } = await watch.read();
		const tookMs = performance.now() - startedMs;
		const missing = Math.max(0, owed - delivered);
		if (missing === 0 || tookMs > limitMs) {
			const mostInHand = hanging * MAX_IN_HAND_PER_HANGING_SHOP + missing;
			if (inHand > mostInHand)
				throw new Error(`${inHand} deliveries are in hand, where ${mostInHand} may be`);
			return tookMs / SECOND_MS;
		}
		await timePasses(POLL_MS);
	}
}

async function stopService({ service }: Setup): Promise<void> {
	service.kill("SIGTERM");
	const { code, stderr } = await service.ended();
	if (code !== 0) throw new Error(`the service ended with ${code}: ${stderr}`);
	// Beside its log there is only what the inspector says.
	const complaints = stderr.split("\n").filter((line) => line.startsWith("{"));
	if (complaints.length > 0) throw new Error(`the service complained: ${complaints.slice(0, 3).join("\n")}`);
}

function describeSample({ atMs, delivered, inHand, residentBytes }: Sample, { latenciesMs }: Intake): string {
	const answered = `${Math.round(atMs / SECOND_MS)} s: ${latenciesMs.length} answered`;
	return `${answered}, ${delivered} delivered, ${inHand} in hand, ${describeBytes(residentBytes)} resident`;
}
