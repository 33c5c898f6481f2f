// One round: a fresh database, services over it, steady intake, one or two strokes of fate, and then everything
// that is due must end. The books are checked behind each stroke and at the end.

import { ok } from "node:assert/strict";
import type { Certificates } from "../../demo/certificate.ts";
import { CLAIM_LAPSE_MS } from "../../src/store/queue.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { type ArrivalCounts, checkArrivals } from "./arrivals.ts";
import { checkEnd } from "./balance.ts";
import type { Books } from "./books.ts";
import type { DiskWay } from "./full-disk.ts";
import { createIntake } from "./intake.ts";
import type { Kind, Phase, RoundPlan } from "./plan.ts";
import { openReceivingShop } from "./receiving-shop.ts";
import { checkReleased, look, passTime, type Scene, untilQuiet, witnessedIn } from "./scene.ts";
import { openSite } from "./site.ts";
import { type AwaitedMoment, awaitMoment, strike } from "./strokes.ts";

/** What rounds share, because it costs seconds to make. */
export interface Stage {
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
	/** Deliveries that were in somebody's hands when a stroke fell. */
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

export async function runRound(plan: RoundPlan, stage: Stage): Promise<RoundReport> {
	const cleanups: (() => Promise<void>)[] = [];
	let scene: Scene | undefined;
	let moment: AwaitedMoment | undefined;
	try {
		const orders = plan.phases.flatMap((phase) => phase.orders);
		const { certificates } = stage;
		const shop = await openReceivingShop({
			orders,
			certificates,
			onArrival: () => moment?.count("arrival"),
		});
		cleanups.push(() => shop.close());
		const cleaning = { after: (clean: () => Promise<void>) => void cleanups.push(clean) };
		const site = await openSite({ plan, shop, ...stage, cleaning });
		shop.secret = site.account.secret;
		const refusals = REFUSALS[plan.kind];
		const onAnswer = () => moment?.count("answer");
		const intake = createIntake({ account: site.account, refusals, onAnswer });
		scene = {
			site,
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
			await livePhase(scene, phase, moment).finally(moment.forget);
		}
		const books = await finish(scene, plan.lastPassesMs);
		await site.remove();
		return report(scene, books);
	} catch (error) {
		// The services' own words say most about what went wrong.
		throw new Error(`${String(error)}\n${scene?.site.crew.logs() ?? ""}`, { cause: error });
	} finally {
		if (scene !== undefined) scene.isAbandoned = true;
		for (const clean of cleanups.reverse()) await clean();
	}
}

async function livePhase(scene: Scene, phase: Phase, moment: AwaitedMoment): Promise<void> {
	const { crew } = scene.site;
	scene.intake.add(phase.orders);
	let isStruck = false;
	const striking = moment.come
		.then(() => strike(scene, phase.stroke))
		.then(() => {
			isStruck = true;
		});
	const starting = crew.startAll();
	// A service may refuse to start without its database: only a kill falls on one that is still starting.
	const ready = phase.stroke.kind === "kill" ? Promise.resolve() : starting;
	const working = ready
		.then(() => scene.intake.work(crew.doors, () => isStruck || scene.isAbandoned))
		.then(moment.force);
	await inTime([starting, working, striking]);
	crew.checkAlive();
	// What goes on by itself has to, before anybody is started again.
	if (phase.stroke.kind !== "kill" && !crew.isDown) {
		ok(scene.intake.isDone, "every report is answered in the end, by the services that were there");
		await untilQuiet(scene);
	}
	const books = await look(scene);
	if (crew.isDown && phase.passesMs !== null) await passTime(scene, books, phase.passesMs);
}

async function finish(scene: Scene, lastPassesMs: number | null): Promise<Books> {
	await goOnAndStop(scene);
	const books = await look(scene);
	checkReleased(scene, books);
	const isLeft = books.deliveries.some(({ queued }) => queued !== null && queued.claim !== null);
	if (!isLeft && lastPassesMs === null) return books;
	await passTime(scene, books, lastPassesMs ?? CLAIM_LAPSE_MS);
	await goOnAndStop(scene);
	return look(scene);
}

/** Half of a round is the starting of processes: the fewest that can bring it to its end. */
async function goOnAndStop(scene: Scene): Promise<void> {
	const { site, intake } = scene;
	await inTime([
		site.crew.startEnough(!intake.isDone),
		intake.work(site.crew.doors, () => scene.isAbandoned),
	]);
	await untilQuiet(scene);
	await site.crew.stopAll();
}

function report(scene: Scene, books: Books): RoundReport {
	const { intake, shop, site, hits, kills } = scene;
	checkEnd(books, witnessedIn(scene), scene.quietAtMs);
	const log = books.deliveries.flatMap((delivery) => delivery.log);
	return {
		...intake.counts,
		...checkArrivals(books, shop.arrivals, kills),
		owed: books.deliveries.length,
		arrived: shop.arrivals.length,
		hit: hits.size,
		interrupted: log.filter(({ result }) => result === "interrupted").length,
		diskWay: site.disk?.way ?? null,
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
