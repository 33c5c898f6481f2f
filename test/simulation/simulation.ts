// Runs one simulation from one seed. The first part checks safety in days of virtual time with faults, in which every
// request and every answer is audited. The second part checks liveness. The faults stop, and everything due must end
// in time. Otherwise the run names the row that is still pending.

import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { verifyPartnerCallback, verifyPostback } from "@ringback/receiver";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { SEALING_KEY_BYTES } from "#core/domain/sealing.ts";
import { DAY_MS } from "#core/domain/time.ts";
import type { EngineLock } from "#core/store/sqlite/engine-lock.ts";
import { createSqliteStore } from "#core/store/sqlite/store.ts";
import { realClock } from "../../src/outside/clock.ts";
import { Broken, demand } from "../support/broken.ts";
import { START_MS } from "../support/clock.ts";
import { coinsOf } from "../support/lifecycle-model.ts";
import { raiseReceiverIds } from "../support/receiver-ids.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createAccounting } from "./accounting.ts";
import { createCluster } from "./cluster.ts";
import { createConfiguration } from "./configuration.ts";
import { openCrediting } from "./crediting.ts";
import { auditDeliveries, type DeliveryTotals } from "./delivery-auditor.ts";
import { auditFeeds } from "./feed-auditor.ts";
import { createHolding } from "./holding.ts";
import { createImpatience, type WaitingDelivery } from "./impatience.ts";
import { auditLives } from "./life-auditor.ts";
import { createMailServer } from "./mail-server.ts";
import { createMoneyAuditor } from "./money-auditor.ts";
import { drawMoneyPlan, type MoneyPlan } from "./money-plan.ts";
import { createNetwork } from "./network.ts";
import { auditNotices, auditTroubles } from "./notice-auditor.ts";
import { openProgrammes } from "./opening.ts";
import { createOrderLedger } from "./order-ledger.ts";
import { auditPartnerEvents, openPartnerReceivers } from "./partner-receivers.ts";
import { drawPlan } from "./plan.ts";
import { createProgrammeReader, inForce, type ProgrammeRecord } from "./programme-record.ts";
import { scheduleRateChanges } from "./rate-changes.ts";
import { scheduleLife, scheduleMoods } from "./schedule.ts";
import { auditCleanStop, createSettlingAuditor } from "./settling-auditor.ts";
import { createStoreWatch } from "./store-watch.ts";
import { createStreamAuditor, SEEN_WITHIN_MS, type Sent } from "./stream-auditor.ts";
import { Timeline } from "./timeline.ts";
import { createWorkload, type FinishedDelivery } from "./workload.ts";

export interface RunReport {
	/** Hash of everything that happened in the run. It is the same for the same seed on every machine. */
	digest: string;
	virtualDays: number;
	orders: number;
	deliveries: number;
	requests: number;
	kills: number;
	/** Number of requests whose result was never stored. */
	lost: number;
	mails: number;
	/** Number of attempts that a person brought forward. Requests without a known result do not count. */
	hurried: number;
	/** Number of sales that the shop's server reported after the pixel's report had expired. */
	lateSales: number;
	/** Number of confirmations of conversions that a pixel had recorded without parking. */
	unparkedConfirmations: number;
	/** Number of sales that the shop's server reported after the pixel's report had been rejected. */
	replacedPixels: number;
	/** Number of conversions with a credited partner. */
	credited: number;
	/** Number of events for partners. */
	partnerEvents: number;
	/** Number of partial refunds. */
	refunds: number;
	/** Number of conversions that staff credited to another partner. */
	assignments: number;
	adjustments: number;
	statements: number;
	/** Number of answered requests to mark statements as paid. */
	payments: number;
}

/**
 * Number of days without faults. It is more than the longest window (30 days) and the longest retry delay
 * (one day).
 */
const CALM_DAYS = 33;
const BRAND = "Service";
/** Constants that are combined with the seed, so that each part of the workload has random numbers of its own. */
const IMPATIENCE = 0x5eed;
const HOLDING = 0x401d;
const CREDITING = 0xc4ed;
const MONEY = 0xca6c;
const PARTNERS = 0x9a27;
const RATES = 0x4a7e;
/** Share of runs that have refunds, adjustments and statements. */
const MONEY_SHARE = 0.6;
/** Maximum number of requests in flight, the service's default. No run comes near it. */
const CAP_OVERALL = 512;

/**
 * Returns whether the engines of this run know at once that a process was killed, as on a SQLite file. In the other runs
 * only the leases show it, as on PostgreSQL.
 */
function knowsKills(seed: number): boolean {
	return seed % 2 === 0;
}

function lockOf(killedEngines: ReadonlySet<number>): { engineLock: EngineLock } {
	const engineLock: EngineLock = {
		findEnded: () => [...killedEngines],
		note: () => undefined,
		close: () => undefined,
	};
	return { engineLock };
}

export async function simulate(seed: number): Promise<RunReport> {
	using database = new DatabaseSync(":memory:");
	const random = createSeededRandom(seed);
	const fork = () => createSeededRandom(random.between(0, 2 ** 31 - 1));
	const holdRandom = createSeededRandom(seed ^ HOLDING);
	const holds = holdRandom.chance(0.4) ? holdRandom.between(1, 2) : 0;
	const plan = { ...drawPlan(random), holds };
	const moneyRandom = createSeededRandom(seed ^ MONEY);
	const money = moneyRandom.chance(MONEY_SHARE) ? drawMoneyPlan(moneyRandom, plan.days) : null;
	const startMs = money?.startMs ?? START_MS;
	const timeline = new Timeline(startMs);
	const killedEngines = new Set<number>();
	const store = createSqliteStore(database, realClock, knowsKills(seed) ? lockOf(killedEngines) : {});
	await store.migrate(startMs);
	await raiseReceiverIds(store);
	const keyRing = createKeyRing([random.bytes(SEALING_KEY_BYTES)]);
	const programmes = await openProgrammes(store, plan, fork(), startMs);
	const drawn = createSeededRandom(seed ^ CREDITING);
	const crediting = await openCrediting(store.db, programmes, drawn, keyRing, money !== null);

	const partnerRandom = createSeededRandom(seed ^ PARTNERS);
	const partners = await openPartnerReceivers(store, crediting.partners, partnerRandom, keyRing, startMs);
	const receivers = [...programmes, ...partners];

	const tracing = createHash("sha256");
	const trace = (line: string): void => {
		tracing.update(`${timeline.nowMs} ${line}\n`);
	};
	let broken: unknown;
	const attempt = (check: () => void): void => {
		try {
			check();
		} catch (error) {
			broken ??= error;
		}
	};
	const supervise = (work: Promise<void>): void => {
		work.catch((error: unknown) => {
			broken ??= error;
		});
	};

	let isCalm = false;
	let settledCount = 0;
	const ended = new Set<number>();
	const watchSettling = createSettlingAuditor(database, attempt);
	const readProgramme = createProgrammeReader(database, keyRing);
	const ledger = createOrderLedger(() => timeline.nowMs);
	const heldRow = database.prepare("select one from delivery_pause");
	const holding = createHolding({
		random: holdRandom,
		nowMs: () => timeline.nowMs,
		at: (atMs, run) => timeline.setOccasion(atMs, run),
		pickProcess: () => cluster.pick(),
		readIsHeld: () => heldRow.get() !== undefined,
		trace,
		supervise,
	});
	const auditor = createStreamAuditor({
		heldForMs: holding.heldForMs,
		timeline,
		database,
		plan,
		brand: BRAND,
		receivers,
		expectations: ledger,
		attempt,
		trace,
	});
	const network = createNetwork(timeline, { shops: fork(), partners: partnerRandom }, auditor);
	const mailServer = createMailServer(timeline, fork(), () => (isCalm ? 0 : plan.faults.mailRefusal), trace);
	const cluster = createCluster(
		{
			timeline,
			store,
			keyRing,
			brand: BRAND,
			hasJobs: money !== null,
			caps: { perReceiver: plan.capPerProgramme, overall: CAP_OVERALL },
			databaseFailureShare: () => (isCalm ? 0 : plan.faults.databaseFailure),
			post: network.post,
			mail: mailServer.take,
			watchSettling(settlements) {
				settledCount += settlements.length;
				return watchSettling(settlements);
			},
			onEnded: (engineId) => ended.add(engineId),
			onKilled(engineIds) {
				for (const id of engineIds) killedEngines.add(id);
			},
			onCleanStop(engineIds) {
				// Runs with database failures are left out. If the database fails repeatedly, the last results may not be
				// stored, and the engine becomes silent.
				if (plan.faults.databaseFailure === 0) attempt(() => auditCleanStop(database, engineIds));
			},
			onUnexpected: (error) => {
				broken ??= new Broken(
					"nothing unexpected happens",
					String(error instanceof Error ? error.stack : error),
				);
			},
		},
		plan,
		fork(),
	);
	const configuration = createConfiguration({
		random: fork(),
		keyRing,
		lookUp: network.lookUp,
		readProgramme: (programme) => readProgramme(programme, timeline.nowMs),
		trace,
	});
	const finished = database.prepare(
		"select public_id as publicId, state, run, attempts as seq from deliveries where receiver_id = ? and state <> 'pending' order by id",
	);
	const failed = database.prepare(
		"select count(*) as count from deliveries where receiver_id = ? and failed_at_ms between ? and ? and set_aside is null",
	);
	const picking = fork();
	const workload = createWorkload({
		random: fork(),
		programmes,
		ledger,
		crediting,
		pickProcess: cluster.pick,
		pickFinished(programme) {
			const rows = finished.all(programme.receiver_id);
			if (rows.length === 0) return undefined;
			return picking.pick(rows) as unknown as FinishedDelivery;
		},
		countFailed: (programme, sinceMs, untilMs) =>
			Number(failed.get(programme.receiver_id, sinceMs, untilMs)?.["count"]),
		settledCount: () => settledCount,
		trace,
		supervise,
	});
	const waiting = database.prepare(
		`select q.id, d.public_id as publicId, d.run, q.seq, q.due_at_ms as dueAtMs
			from queue q join deliveries d on d.id = q.id where q.receiver_id = ? order by q.id`,
	);
	const impatience = createImpatience({
		random: createSeededRandom(seed ^ IMPATIENCE),
		programmes,
		nowMs: () => timeline.nowMs,
		at: (atMs, run) => timeline.setOccasion(atMs, run),
		pickProcess: cluster.pick,
		listWaiting: ({ receiver_id }) => waiting.all(receiver_id) as unknown as WaitingDelivery[],
		trace,
		supervise,
	});
	const { hurried } = impatience;
	const watch = createStoreWatch(database, timeline, {
		upSinceMs: () => Math.max(cluster.upSinceMs, holding.releasedSinceMs()),
		isCalm: () => isCalm,
		onLeap: cluster.maybeHarm,
		slack: fork(),
		findBroken: () => broken,
	});

	const moneyAuditor = createMoneyAuditor(database, minimumsOf(money));
	const accounting =
		money === null
			? null
			: createAccounting({
					random: moneyRandom,
					plan: money,
					days: plan.days,
					programmes,
					ledger,
					crediting,
					database,
					store,
					auditor: moneyAuditor,
					nowMs: () => timeline.nowMs,
					at: (atMs, run) => timeline.setOccasion(atMs, run),
					pickProcess: cluster.pick,
					maybeKill: cluster.maybeKill,
					attempt,
					trace,
					supervise,
				});

	for (const programme of programmes) readProgramme(programme, startMs);
	await accounting?.begin();
	cluster.startAll();
	scheduleLife({
		timeline,
		plan,
		random: fork(),
		programmes,
		network,
		cluster,
		workload,
		configuration,
		impatience,
		holding,
		supervise,
	});
	scheduleRateChanges({
		random: createSeededRandom(seed ^ RATES),
		days: plan.days,
		programmes,
		crediting,
		store,
		nowMs: () => timeline.nowMs,
		at: (atMs, run) => timeline.setOccasion(atMs, run),
		trace,
		supervise,
	});
	for (const partner of partners) {
		scheduleMoods({ timeline, plan, random: partnerRandom, network }, partner, partner.hosts[0]);
	}
	await timeline.liveUntil(startMs + plan.days * DAY_MS, watch);
	auditLives(database, ledger);
	auditPartnerEvents(database, partners);
	await accounting?.auditBalances();
	auditDeliveries(database, { plan, receivers, calmSinceMs: timeline.nowMs, ended, hurried }, auditor.sent);
	auditTroubles(database, Number.POSITIVE_INFINITY);

	isCalm = true;
	const calmSinceMs = timeline.nowMs;
	cluster.calm();
	for (const host of receivers.flatMap(({ hosts }) => hosts)) {
		network.setMood(host, { fromMs: timeline.nowMs, badPercent: 0, dns: "public" });
	}
	await timeline.liveUntil(timeline.nowMs + CALM_DAYS * DAY_MS, watch);
	watch.demandNothingWaits();
	auditLives(database, ledger);
	await auditFeeds(store, programmes, timeline.nowMs);
	auditPartnerEvents(database, partners);
	await accounting?.auditBalances();
	accounting?.demandIssued();
	const totals = auditDeliveries(database, { plan, receivers, calmSinceMs, ended, hurried }, auditor.sent);
	auditResends(totals, workload.resent);
	auditTroubles(database, calmSinceMs);
	auditNotices(
		database,
		totals.failuresOf,
		mailServer.mails,
		new Map(receivers.map((receiver) => [receiver.receiver_id, receiver.ownerEmail])),
	);
	await verifyAll(auditor.sent);
	tracing.update(dump(database));
	return {
		digest: tracing.digest("hex"),
		virtualDays: plan.days + CALM_DAYS,
		orders: ledger.orders.length,
		deliveries: totals.deliveries,
		requests: totals.requests,
		kills: cluster.kills,
		lost: totals.lost,
		mails: mailServer.mails.length,
		hurried: [...hurried.values()].flat().filter(({ isSure }) => isSure).length,
		lateSales: countReplaced(database, "= 'EXPIRED'"),
		unparkedConfirmations: countAfter(database, "confirm", "record"),
		replacedPixels: countReplaced(database, "<> 'EXPIRED'"),
		credited: count(database, "credits where partnership_id is not null"),
		partnerEvents: count(
			database,
			"events e join receivers r on r.id = e.receiver_id and r.kind = 'partner'",
		),
		statements: moneyAuditor.statements,
		...(accounting?.counts ?? { refunds: 0, assignments: 0, adjustments: 0, payments: 0 }),
	};
}

function minimumsOf(money: MoneyPlan | null): Map<string, bigint> {
	return new Map([...(money?.minimums ?? [])].map(([currency, amount]) => [currency, coinsOf(amount)]));
}

function auditResends(
	{ resentOf }: DeliveryTotals,
	resent: ReadonlyMap<ProgrammeRecord, { surely: number; perhaps: number }>,
): void {
	for (const [programme, { surely, perhaps }] of resent) {
		const runs = resentOf.get(programme.receiver_id) ?? 0;
		const isAsAsked = runs >= surely && runs <= surely + perhaps;
		demand(
			isAsAsked,
			"nothing unexpected happens",
			() => `${runs} runs were started, ${surely} to ${surely + perhaps} asked for`,
		);
	}
}

/** Verifies all requests with the library that a shop installs (invariant 6). */
async function verifyAll(sent: readonly Sent[]): Promise<void> {
	await Promise.all(
		sent.map(async ({ receiver, path, headers, request, senderNowMs, sentAtMs }) => {
			const secrets = inForce(receiver.secrets, sentAtMs - SEEN_WITHIN_MS, sentAtMs);
			const secret = secrets.filter((value) => value !== null);
			const received = { path, headers, rawBody: request.body, secret, now: senderNowMs, brand: BRAND };
			const method = request.getTarget === undefined ? "POST" : "GET";
			const verification =
				"terms" in receiver
					? await verifyPostback(received)
					: await verifyPartnerCallback({ ...received, method });
			demand(
				verification.ok,
				"6 every request verifies and is fresh",
				() => `${JSON.stringify(verification)}: ${request.body}`,
			);
		}),
	);
}

/** Counts moves of one kind that came after an earlier move of the other kind on the same conversion. */
function countAfter(database: DatabaseSync, move: string, earlier: string): number {
	return count(
		database,
		`moves m where m.move = '${move}' and exists (
			select 1 from moves e where e.conversion_id = m.conversion_id and e.move = '${earlier}' and e.id < m.id)`,
	);
}

/** Counts conversions in the given status that the server's report replaced. */
function countReplaced(database: DatabaseSync, status: string): number {
	return count(database, `conversions where order_id like '% (cnv%)' and status ${status}`);
}

function count(database: DatabaseSync, from: string): number {
	return Number(database.prepare(`select count(*) as n from ${from}`).get()?.["n"]);
}

function dump(database: DatabaseSync): string {
	const tables = "conversions moves events deliveries queue slots attempts notices credits".split(" ");
	return JSON.stringify(
		tables.map((table) => database.prepare(`select * from ${table} order by 1, 2`).all()),
	);
}
