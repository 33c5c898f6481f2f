// One round: a fresh database, services over it, steady intake, one or two crashes, and then everything that is
// due must end. What is stored is checked behind each crash and at the end.

import { ok } from "node:assert/strict";
import type { Certificates } from "../../demo/certificate.ts";
import { LEASE_MS } from "../../src/store/queue.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { type ArrivalCounts, checkArrivals } from "./arrivals.ts";
import { checkEnd } from "./balance.ts";
import { type AwaitedMoment, awaitMoment, causeCrash } from "./crashes.ts";
import type { DiskWay } from "./full-disk.ts";
import { createIntake } from "./intake.ts";
import type { Ledger } from "./ledger.ts";
import type { Kind, Phase, RoundPlan } from "./plan.ts";
import { openReceivingShop } from "./receiving-shop.ts";
import { checkReleased, look, passTime, type RoundState, untilQuiet, witnessedIn } from "./round-state.ts";
import { openSetup } from "./setup.ts";

/** What rounds share, because it costs seconds to make. */
export interface SharedParts {
	certificates: Certificates;
	postgres: () => Promise<PostgresServer>;
	diskWays: readonly DiskWay[];
}

export interface RoundReport extends ArrivalCounts {
	answered: number;
	/** Requests that the service refused as not possible just now. */
	refused: number;
	/** Requests whose connection broke. */
	broken: number;
	owed: number;
	arrived: number;
	/** Deliveries that were in somebody's hands when a crash fell. */
	hit: number;
	interrupted: number;
	diskWay: DiskWay | null;
}

/** A phase takes a second or two; whatever takes this long is stuck. */
const PHASE_PATIENCE_MS = 60_000;

/** What may be answered while the database is away or full; otherwise nothing may be refused. */
const REFUSALS: Readonly<Record<Kind, readonly number[]>> = {
	"sqlite-kill": [],
	"postgres-kill": [],
	"postgres-restart": [503],
	"disk-full": [503],
};

export async function runRound(plan: RoundPlan, shared: SharedParts): Promise<RoundReport> {
	const cleanups: (() => Promise<void>)[] = [];
	let round: RoundState | undefined;
	let moment: AwaitedMoment | undefined;
	try {
		const orders = plan.phases.flatMap((phase) => phase.orders);
		const { certificates } = shared;
		const shop = await openReceivingShop({
			orders,
			certificates,
			onArrival: () => moment?.count("arrival"),
		});
		cleanups.push(() => shop.close());
		const cleaning = { after: (clean: () => Promise<void>) => void cleanups.push(clean) };
		const setup = await openSetup({ plan, shop, ...shared, cleaning });
		shop.secret = setup.account.secret;
		const refusals = REFUSALS[plan.kind];
		const onAnswer = () => moment?.count("answer");
		const intake = createIntake({ account: setup.account, refusals, onAnswer });
		round = {
			setup,
			shop,
			intake,
			hits: new Map(),
			kills: new Map(),
			lapsed: new Map(),
			earlier: null,
			quietAtMs: 0,
			isAbandoned: false,
		};
		for (const phase of plan.phases) {
			moment = awaitMoment(phase.moment);
			await livePhase(round, phase, moment).finally(moment.forget);
		}
		const ledger = await finish(round, plan.lastPassesMs);
		await setup.remove();
		return report(round, ledger);
	} catch (error) {
		// The services' own words say most about what went wrong.
		throw new Error(`${String(error)}\n${round?.setup.processes.logs() ?? ""}`, { cause: error });
	} finally {
		if (round !== undefined) round.isAbandoned = true;
		for (const clean of cleanups.reverse()) await clean();
	}
}

async function livePhase(round: RoundState, phase: Phase, moment: AwaitedMoment): Promise<void> {
	const { processes } = round.setup;
	round.intake.add(phase.orders);
	let hasCrashed = false;
	const crashing = moment.come
		.then(() => causeCrash(round, phase.crash))
		.then(() => {
			hasCrashed = true;
		});
	const starting = processes.startAll();
	// A service may refuse to start without its database: only a kill falls on one that is still starting.
	const ready = phase.crash.kind === "kill" ? Promise.resolve() : starting;
	const working = ready
		.then(() => round.intake.work(processes.doors, () => hasCrashed || round.isAbandoned))
		.then(moment.force);
	await inTime([starting, working, crashing]);
	processes.checkAlive();
	// What goes on by itself has to, before anybody is started again.
	if (phase.crash.kind !== "kill" && !processes.isDown) {
		ok(round.intake.isDone, "every report is answered in the end, by the services that were there");
		await untilQuiet(round);
	}
	const ledger = await look(round);
	if (processes.isDown && phase.passesMs !== null) await passTime(round, ledger, phase.passesMs);
}

async function finish(round: RoundState, lastPassesMs: number | null): Promise<Ledger> {
	await goOnAndStop(round);
	const ledger = await look(round);
	checkReleased(round, ledger);
	const isLeft = ledger.deliveries.some(
		({ queued }) => queued !== null && (queued.holder ?? queued.laneHolder) !== null,
	);
	if (!isLeft && lastPassesMs === null) return ledger;
	await passTime(round, ledger, lastPassesMs ?? LEASE_MS);
	await goOnAndStop(round);
	return look(round);
}

/** Half of a round is the starting of processes: the fewest that can bring it to its end. */
async function goOnAndStop(round: RoundState): Promise<void> {
	const { setup, intake } = round;
	await inTime([
		setup.processes.startEnough(!intake.isDone),
		intake.work(setup.processes.doors, () => round.isAbandoned),
	]);
	await untilQuiet(round);
	await setup.processes.stopAll();
}

function report(round: RoundState, ledger: Ledger): RoundReport {
	const { intake, shop, setup, hits, kills } = round;
	checkEnd(ledger, witnessedIn(round), round.quietAtMs);
	const log = ledger.deliveries.flatMap((delivery) => delivery.log);
	return {
		...intake.counts,
		...checkArrivals(ledger, shop.arrivals, kills),
		owed: ledger.deliveries.length,
		arrived: shop.arrivals.length,
		hit: hits.size,
		interrupted: log.filter(({ result }) => result === "interrupted").length,
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
