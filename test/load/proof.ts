// `npm run load` reports sales as fast as the machine allows, while callbacks are sent to shops of which a tenth hang. It
// proves that there is no error, no growth of memory and no loss.

import { randomBytes, randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as timePasses } from "node:timers/promises";
import { SECOND_MS } from "#core/domain/time.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import { readConfig } from "../../src/config.ts";
import { openWorkplace } from "../../src/service/workplace.ts";
import { openHome, type Running } from "../support/command-home.ts";
import { forkProcess } from "../support/forked-process.ts";
import { createPostgresAtHand } from "../support/postgres.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { BrokenPromise, type Progress, type Proof } from "../support/proof.ts";
import type { ShopAccount } from "../support/shop-account.ts";
import { describeFloods, measureFloods } from "./floods.ts";
import { type AnsweredShop, type Intake, startIntake } from "./intake.ts";
import { growthOf, type Memory, median, openMemory } from "./memory.ts";
import type { ShopArrivals, ShopsOpened } from "./shop-process.ts";

export interface LoadOptions {
	seconds: number;
	seed: number;
	usesPostgres: boolean;
	/** Maximum time in seconds to wait for the last delivery of shops that answer. */
	drainSeconds: number;
}

export interface LoadReport {
	calls: number;
	delivered: number;
	/** Number of deliveries of shops that hang. They are still pending and have a due time. */
	waiting: number;
	text: string;
}

const SHOPS = 20;
const HANGING = 2;
/**
 * Maximum growth of the live heap. Work in progress varies, and the growth in a run of five minutes is well
 * below this value.
 */
const LIVE_MAY_GROW_BYTES = 4_000_000;
/** Maximum growth of the resident size. Uncollected garbage varies by tens of megabytes. */
const RESIDENT_MAY_GROW_BYTES = 64_000_000;
/** Number of samples, enough to see growth in a short run without adding much load. */
const SAMPLES = 30;
/** Minimum number of samples. On a machine that stalls, a short run continues until it has them. */
const MIN_SAMPLES = 9;
/**
 * Default time to wait for the last deliveries. On a busy machine, a healthy shop may miss the deadline of
 * five seconds once and get the callback a minute later.
 */
const DRAIN_SECONDS = 90;
/**
 * Maximum share of deliveries that wait for a retry, and of calls answered with 503. A slow machine alone
 * does not cause more.
 */
const MAX_LATE_SHARE = 0.05;
/**
 * Maximum number of deliveries in memory for a shop that hangs. The rest of its backlog waits in the
 * database.
 */
const MAX_IN_HAND_PER_HANGING_SHOP = 8;
/**
 * Maximum number of calls answered with 503. It is reached if the machine stalls twice while all senders
 * wait.
 */
const MAX_BUSY = 32;
const POLL_MS = 50;

export const loadProof: Proof = {
	name: "load",
	summary: "Loads a real service as far as the machine goes while a tenth of its shops hang.",
	options: {
		seconds: { value: "N", help: "how long reports come in", preset: 300, least: 1 },
		seed: { value: "S", help: "the same reports in the same order", preset: null },
		floods: { value: "0|1", help: "1 for a sale's time beside floods of other requests", preset: 0, most: 1 },
		postgres: { value: "0|1", help: "1 for PostgreSQL instead of an SQLite file", preset: 0, most: 1 },
	},
	async run({ seconds, seed, floods, postgres }, progress) {
		if (floods === 1) {
			const database = postgres === 1 ? "PostgreSQL" : "SQLite";
			const options = { sales: 100, rounds: 3 };
			return describeFloods(database, await measureFloods(database, options, ({ name }) => progress(name)));
		}
		const chosen = { seconds: seconds ?? 1, seed: seed ?? randomInt(2 ** 31), usesPostgres: postgres === 1 };
		return (await runLoad({ ...chosen, drainSeconds: DRAIN_SECONDS }, progress)).text;
	},
};

export async function runLoad(options: LoadOptions, progress: Progress): Promise<LoadReport> {
	await using cleaning = new AsyncDisposableStack();
	try {
		return await runOver(await openSetup(options, cleaning), options, progress);
	} catch (error) {
		const database = options.usesPostgres ? " --postgres 1" : "";
		const replay = `npm run load -- --seconds ${options.seconds} --seed ${options.seed}${database}`;
		throw new BrokenPromise(error instanceof Error ? error.message : String(error), replay, error);
	}
}

type Setup = Awaited<ReturnType<typeof openSetup>>;

/** Opens the shops, the database and the service. `cleaning` closes them, also if opening one of them fails. */
async function openSetup({ usesPostgres }: LoadOptions, cleaning: AsyncDisposableStack) {
	const databaseUrl = usesPostgres ? await openPostgresDatabase(cleaning) : undefined;
	const home = openHome({ after: (clean) => cleaning.defer(clean) });
	const shops = await forkProcess<ShopsOpened, "report", readonly ShopArrivals[]>(
		new URL("./shop-process.ts", import.meta.url),
		[String(SHOPS), String(HANGING)],
	);
	cleaning.defer(() => shops.close());
	const caFile = join(home.folder, "ca.pem");
	writeFileSync(caFile, shops.opened.caPem);
	const settings = {
		PORT: "0",
		RINGBACK_METRICS_ADDRESS: "127.0.0.1:0",
		DATABASE_URL: databaseUrl ?? `sqlite:${home.databasePath}`,
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
		RINGBACK_TRUSTED_CA: caFile,
		RINGBACK_SECRET_KEY: randomBytes(32).toString("hex"),
		LOG_LEVEL: "error",
		NODE_OPTIONS: "--inspect=127.0.0.1:0",
	};
	const accounts: ShopAccount[] = [];
	for (const [shop, postbackUrl] of shops.opened.urls.entries()) {
		accounts.push(await prepareDatabase(settings, { postbackUrl, owners: [`owner-${shop}@shop.example`] }));
	}
	const service = home.start(["serve"], settings);
	const [, inspectorUrl = ""] = await service.said(/^Debugger listening on (\S+)$/m);
	const [, serviceUrl = ""] = await service.said(/^Ringback listens on (\S+)$/m);
	const [, metricsUrl = ""] = await service.said(/^ {2}metrics {2}(\S+)$/m);
	return { shops, accounts, service, serviceUrl, metricsUrl, inspectorUrl, settings };
}

async function openPostgresDatabase(cleaning: AsyncDisposableStack): Promise<string> {
	const postgres = createPostgresAtHand();
	cleaning.defer(() => postgres.stop());
	const database = await postgres.createDatabase();
	cleaning.defer(() => database.drop());
	return database.url;
}

async function runOver(setup: Setup, options: LoadOptions, progress: Progress): Promise<LoadReport> {
	const memory = await openMemory(setup.inspectorUrl);
	const startedMs = performance.now();
	const intake = startIntake(setup.serviceUrl, setup.accounts, options.seed);
	const sizes = { live: [] as number[], resident: [] as number[] };
	const over = new AbortController();
	const watching = watch(setup, memory, sizes, options.seconds * SECOND_MS, over.signal, (delivered) =>
		progress(`${intake.latenciesMs.length} answered, ${delivered} delivered`),
	);
	// The promise may reject when no caller waits for it any more. The rejection must not end the process.
	watching.catch(() => undefined);
	try {
		await Promise.race([intake.done, watching]);
	} finally {
		over.abort();
		await intake.stop();
	}
	const tookSeconds = (performance.now() - startedMs) / SECOND_MS;
	const drainSeconds = await drain(setup, intake, options.drainSeconds * SECOND_MS);
	// The inspector is closed first, because a process does not end while one is connected.
	memory.close();
	await stopService(setup.service);
	const { calls, losses } = await judge(setup, intake);
	const sorted = intake.latenciesMs.toSorted((one, other) => one - other);
	const at = (share: number) => Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? 0);
	const text = [
		`${calls} calls answered (${Math.round(calls / tookSeconds)}/s), ${intake.busy} answered with 503`,
		`p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`,
		`${losses.delivered} events delivered (${losses.repeats} repeats, the last after ${drainSeconds.toFixed(1)} s)`,
		`${losses.waiting} waiting for shops that hang, ${losses.retrying} for their retry`,
		`live heap ${megabytes(median(sizes.live))}, resident ${megabytes(median(sizes.resident))}`,
		`${options.usesPostgres ? "PostgreSQL" : "SQLite"}, seed ${options.seed}`,
	].join("; ");
	const demand = (isTrue: boolean, what: string) => {
		if (!isTrue) throw new Error(`${what}: ${text}`);
	};
	demand(losses.findings.length === 0, `something is lost:\n${losses.findings.slice(0, 10).join("\n")}`);
	demand(losses.retrying <= losses.delivered * MAX_LATE_SHARE, "too much is not delivered yet");
	demand(intake.busy <= MAX_BUSY + calls * MAX_LATE_SHARE, "too many calls were answered with 503");
	demand(growthOf(sizes.live) <= LIVE_MAY_GROW_BYTES, "the live heap grows");
	demand(growthOf(sizes.resident) <= RESIDENT_MAY_GROW_BYTES, "the resident size grows");
	return { calls, delivered: losses.delivered, waiting: losses.waiting, text };
}

/** Samples the memory until the time is over and there are enough samples. */
async function watch(
	{ metricsUrl }: Setup,
	memory: Memory,
	sizes: Record<"live" | "resident", number[]>,
	loadMs: number,
	signal: AbortSignal,
	onSample: (delivered: number) => void,
): Promise<void> {
	const startedMs = performance.now();
	while (performance.now() - startedMs < loadMs || sizes.live.length < MIN_SAMPLES) {
		await timePasses(loadMs / SAMPLES, undefined, { signal });
		const { residentBytes, delivered } = await readMetrics(metricsUrl);
		sizes.resident.push(residentBytes);
		sizes.live.push(await memory.measureLiveBytes());
		onSample(delivered);
	}
}

/** Reads metrics of the service. */
async function readMetrics(metricsUrl: string) {
	const response = await fetch(metricsUrl);
	const text = await response.text();
	if (!response.ok) throw new Error(`${metricsUrl} answered ${response.status}: ${text}`);
	const read = (name: string) => {
		const line = text.split("\n").find((one) => one.startsWith(`${name} `));
		if (line === undefined) throw new Error(`/metrics does not have ${name}`);
		return Number(line.slice(name.length + 1));
	};
	return {
		residentBytes: read("process_resident_memory_bytes"),
		delivered: read('ringback_deliveries_finished_total{state="delivered"}'),
		/** Number of deliveries in the engine's memory. */
		inHand: read("ringback_in_hand"),
	};
}

/**
 * Waits until every event of the shops that answer is stored as delivered, or until the time limit. Missing
 * events are reported later as losses. At the end, only shops that hang may have deliveries in memory.
 */
async function drain({ metricsUrl }: Setup, { answered }: Intake, limitMs: number): Promise<number> {
	const owed = answered.slice(HANGING).reduce((sum, { events }) => sum + events.size, 0);
	const startedMs = performance.now();
	for (;;) {
		const { delivered, inHand } = await readMetrics(metricsUrl);
		const tookMs = performance.now() - startedMs;
		const missing = Math.max(0, owed - delivered);
		if (missing === 0 || tookMs > limitMs) {
			const most = HANGING * MAX_IN_HAND_PER_HANGING_SHOP + missing;
			if (inHand > most) throw new Error(`${inHand} deliveries wait or are in flight, but only ${most} may`);
			return tookMs / SECOND_MS;
		}
		await timePasses(POLL_MS);
	}
}

async function stopService(service: Running): Promise<void> {
	service.kill("SIGTERM");
	const { code, stderr } = await service.ended();
	// Lines that are not JSON come from the inspector and not from the log.
	const complaints = stderr.split("\n").filter((line) => line.startsWith("{"));
	if (code !== 0 || complaints.length > 0) {
		throw new Error(`the service ended with ${code}: ${complaints.slice(0, 3).join("\n")}`);
	}
}

/**
 * Checks, after the service has stopped, that every acknowledged sale is stored and its events are delivered.
 */
async function judge({ shops, accounts, settings }: Setup, { answered, latenciesMs }: Intake) {
	const losses = { findings: [] as string[], delivered: 0, waiting: 0, retrying: 0, repeats: 0 };
	const arrivals = await shops.ask("report");
	const read = readConfig({ ...settings, LOG_LEVEL: "silent" });
	if (!read.ok) throw new Error(read.problems.join("\n"));
	const workplace = await openWorkplace(read.config);
	try {
		for (const [shop, { programme }] of accounts.entries()) {
			const [promised, arrived] = [answered[shop], arrivals[shop]];
			if (promised === undefined || arrived === undefined) throw new RangeError(`no shop ${shop}`);
			await judgeShop(workplace.store.db, programme, promised, arrived, shop < HANGING, losses);
		}
	} finally {
		await workplace.close();
	}
	return { calls: latenciesMs.length, losses };
}

async function judgeShop(
	db: Db,
	{ id: programmeId, receiver_id: receiverId }: Programme,
	{ conversions, events }: AnsweredShop,
	arrived: ShopArrivals,
	hangs: boolean,
	losses: Awaited<ReturnType<typeof judge>>["losses"],
): Promise<void> {
	const rows = await db
		.selectFrom("conversions")
		.select(["order_id", "public_id"])
		.where("programme_id", "=", programmeId)
		.execute();
	const idOf = new Map(rows.map(({ order_id, public_id }) => [order_id, public_id]));
	for (const order of new Set([...conversions.keys(), ...idOf.keys()])) {
		const [answered, stored] = [conversions.get(order), idOf.get(order)];
		if (answered !== stored)
			losses.findings.push(`${order} was answered with ${answered}, but ${stored} is stored`);
	}
	const deliveries = await db
		.selectFrom("deliveries")
		.innerJoin("events", "events.id", "deliveries.id")
		.innerJoin("conversions", "conversions.id", "events.conversion_id")
		.leftJoin("queue", "queue.id", "deliveries.id")
		.select(["conversions.public_id", "events.name", "deliveries.state", "queue.due_at_ms", "queue.counted"])
		.where("deliveries.receiver_id", "=", receiverId)
		.execute();
	const keys = new Set(deliveries.map(({ public_id, name }) => `${public_id} ${name}`));
	for (const key of keys.symmetricDifference(events))
		losses.findings.push(`${key} is owed and not stored, or stored and not owed`);
	for (const key of arrived.keys)
		if (!events.has(key)) losses.findings.push(`${key} arrived but was never owed`);
	for (const { public_id, name, state, due_at_ms, counted } of deliveries) {
		const isPending = state === "pending" && due_at_ms !== null;
		const hasArrived = arrived.keys.has(`${public_id} ${name}`);
		if (hangs && isPending) losses.waiting++;
		else if (!hangs && state === "delivered" && hasArrived) losses.delivered++;
		else if (!hangs && isPending && (counted ?? 0) > 0) losses.retrying++;
		else
			losses.findings.push(`${public_id} ${name} is ${state}, due at ${due_at_ms}; arrived: ${hasArrived}`);
	}
	if (!hangs) losses.repeats += arrived.requests - arrived.keys.size;
}

function megabytes(bytes: number): string {
	return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
