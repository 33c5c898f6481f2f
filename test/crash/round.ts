// One round of the crash proof. It has a new database, service processes, steady reports, and one or two
// crashes. After them, everything due must end. The stored rows are checked after each crash and at the end.

import { equal, ok } from "node:assert/strict";
import { ENGINE_MESSAGES } from "#core/callbacks/engine.ts";
import { SILENT_MS } from "#core/store/queries/queue.ts";
import type { Certificates } from "../../demo/certificate.ts";
import type { DiskWay } from "../support/full-disk.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { type ArrivalCounts, checkArrivals } from "./arrivals.ts";
import { checkEnd } from "./balance.ts";
import { type AwaitedMoment, awaitMoment, causeCrash } from "./crashes.ts";
import { createIntake } from "./intake.ts";
import type { Ledger } from "./ledger.ts";
import type { Phase, RoundPlan } from "./plan.ts";
import { openReceivingShop, PARTNER_SECRET } from "./receiving-shop.ts";
import { checkReleased, look, passTime, type RoundState, untilQuiet, witnessedIn } from "./round-state.ts";
import { openSetup } from "./setup.ts";
import { startOneByOne } from "./turnover.ts";
import { createWaits } from "./waits.ts";

/** Parts that rounds share, because creating them takes seconds. */
export interface SharedParts {
	certificates: Certificates;
	postgres: () => Promise<PostgresServer>;
	diskWays: readonly DiskWay[];
}

export interface RoundReport extends ArrivalCounts {
	answered: number;
	/** Number of requests that the service refused as unavailable. */
	refused: number;
	/** Number of requests whose connection broke. */
	broken: number;
	owed: number;
	arrived: number;
	/** Number of deliveries that were due in the slots of a killed process. */
	hit: number;
	starts: number;
	stops: number;
	kills: number;
	movedSlots: number;
	takenOver: number;
	/** Maximum number of requests that one shop had at the same time. */
	mostAtOnce: number;
	longestWaitMs: number;
	longestGapMs: number;
	/** Number of entries in the accounts of partners that sales caused. */
	entries: number;
	statements: number;
	/** Number of kills after which statements were still to be issued. */
	interruptions: number;
	diskWay: DiskWay | null;
}

/**
 * Time limit of a phase. A phase takes seconds and a rolling restart half a minute, or three minutes on a
 * busy machine. A phase that takes longer hangs.
 */
const PHASE_PATIENCE_MS = 300_000;

export async function runRound(plan: RoundPlan, shared: SharedParts): Promise<RoundReport> {
	const cleanups: (() => Promise<void>)[] = [];
	let round: RoundState | undefined;
	let moment: AwaitedMoment | undefined;
	try {
		const orders = plan.phases.flatMap((phase) => phase.orders);
		const { certificates } = shared;
		const waits = createWaits(() => performance.now());
		const shop = await openReceivingShop({
			orders,
			certificates,
			onArrival(key) {
				waits.arrived(key);
				moment?.count("arrival");
			},
		});
		cleanups.push(() => shop.close());
		const cleaning = { after: (clean: () => Promise<void>) => void cleanups.push(clean) };
		const setup = await openSetup({ plan, shop, ...shared, cleaning });
		for (const { programmeId, secret } of setup.accounts) shop.secrets.set(programmeId, secret);
		shop.secrets.set(PARTNER_SECRET, setup.partnerSecret);
		const onAnswer = (owed: string | null) => {
			if (owed !== null) waits.owed(owed);
			moment?.count("answer");
		};
		const intake = createIntake({ accounts: setup.accounts, onAnswer });
		round = {
			plan,
			setup,
			shop,
			intake,
			waits,
			movedSlots: 0,
			takenOver: 0,
			engineOf: new Map(),
			knownEngines: new Set(),
			killedEngines: new Set(),
			silentEngines: new Set(),
			kills: [],
			earlier: null,
			copies: new Map(),
			interruptions: 0,
			quietAtMs: 0,
			isAbandoned: false,
		};
		for (const phase of plan.phases) {
			moment = awaitMoment(phase.moment);
			await livePhase(round, phase, moment).finally(moment.forget);
		}
		await finish(round, plan.lastPassesMs);
		await setup.finishStatements();
		const ledger = await look(round);
		await setup.remove();
		return report(round, ledger);
	} catch (error) {
		// The error contains the output of the services, which says most about the cause.
		throw new Error(`${String(error)}\n${round?.setup.processes.logs() ?? ""}`, { cause: error });
	} finally {
		if (round !== undefined) round.isAbandoned = true;
		for (const clean of cleanups.reverse()) await clean();
	}
}

async function livePhase(round: RoundState, phase: Phase, moment: AwaitedMoment): Promise<void> {
	const { processes } = round.setup;
	let hasCrashed = false;
	let feeding: { end(): void } | undefined;
	const starting = startOneByOne(round);
	const crashing = moment.come
		// Pending callbacks may arrive before all services have started. Only a kill may hit a starting service.
		// Other crashes wait, because a service may refuse to start without its database, and it cannot be asked
		// to stop before it listens.
		.then(() => (phase.crash.kind === "kill" ? undefined : starting))
		.then(() => causeCrash(round, phase.crash))
		.finally(() => {
			hasCrashed = true;
			feeding?.end();
			round.waits.endLoad();
		});
	const ready = phase.moment.kind === "start" ? Promise.resolve() : starting;
	if (phase.everyMs === null) round.intake.add(phase.orders);
	const working = ready
		.then(() => {
			if (phase.everyMs !== null) feeding = round.intake.feed(phase.orders, phase.everyMs);
		})
		.then(() => round.intake.work(round.setup.doors, () => hasCrashed || round.isAbandoned))
		.then(moment.force);
	await inTime([starting, working, crashing]).finally(() => feeding?.end());
	processes.checkAlive();
	// Services that are still running must recover by themselves before anything is started again.
	if (phase.crash.kind !== "kill" && !processes.isDown) {
		ok(round.intake.isDone, "every report is answered in the end, by the services that were there");
		await untilQuiet(round);
	}
	await look(round);
	if (processes.isDown && phase.passesMs !== null) await passTime(round, phase.passesMs);
}

async function finish(round: RoundState, lastPassesMs: number | null): Promise<void> {
	await goOnAndStop(round);
	const ledger = await look(round);
	checkReleased(round, ledger);
	const isLeft = ledger.deliveries.some(({ queued }) => queued !== null && queued.owner !== null);
	if (!isLeft && lastPassesMs === null) return;
	await passTime(round, lastPassesMs ?? SILENT_MS);
	await goOnAndStop(round);
	await look(round);
}

/**
 * Runs the rest of the round with as few processes as it needs, because starting processes is half of its
 * cost.
 */
async function goOnAndStop(round: RoundState): Promise<void> {
	const { setup, intake } = round;
	await inTime([
		setup.processes.startEnough(!intake.isDone),
		intake.work(setup.doors, () => round.isAbandoned),
	]);
	await untilQuiet(round);
	await setup.processes.stopAll();
}

function report(round: RoundState, ledger: Ledger): RoundReport {
	const { intake, shop, setup, kills, waits } = round;
	checkEnd(ledger, witnessedIn(round), round.quietAtMs);
	for (const message of [ENGINE_MESSAGES.missed, ENGINE_MESSAGES.vanished]) {
		equal(setup.processes.countLogged(message), 0, message);
	}
	return {
		...intake.counts,
		...checkArrivals(ledger, shop.arrivals, kills),
		owed: ledger.deliveries.length,
		arrived: shop.arrivals.length,
		hit: kills.reduce((sum, { keys }) => sum + keys.size, 0),
		...setup.processes.counts,
		movedSlots: round.movedSlots,
		takenOver: round.takenOver,
		mostAtOnce: shop.mostAtOnce,
		longestWaitMs: waits.longestMs,
		longestGapMs: waits.longestGapMs,
		entries: ledger.money.entries.filter((entry) => entry.conversion_id !== null).length,
		statements: ledger.money.statements.length,
		interruptions: round.interruptions,
		diskWay: setup.disk?.way ?? null,
	};
}

async function inTime(works: readonly Promise<void>[]): Promise<void> {
	const { promise, reject } = Promise.withResolvers<never>();
	const timer = setTimeout(() => reject(new Error(`not done in ${PHASE_PATIENCE_MS} ms`)), PHASE_PATIENCE_MS);
	try {
		await Promise.race([Promise.all(works), promise]);
	} finally {
		clearTimeout(timer);
	}
}
