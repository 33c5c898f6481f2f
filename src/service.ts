// Wires a Config into a running service, starts and stops it in order. This file and service/ are the only place that
// knows the real outside/: everything else sees ports.

import { writeAccess } from "./api/access-log.ts";
import { createMetricsApp, createWorkerApp } from "./api/bare-app.ts";
import type { Unready } from "./api/deps.ts";
import { createStoringWatch } from "./api/health.ts";
import { createLimitedCalls } from "./api/limited-pixel-calls.ts";
import { Engine } from "./callbacks/engine.ts";
import { createClickCounts } from "./clicks/counts.ts";
import { type Config, publicUrlAt, warningSettings } from "./config.ts";
import { NO_ENGINE } from "./domain/process.ts";
import type { Warning } from "./domain/warning.ts";
import {
	type HttpServer,
	listen,
	METRICS_LIMITS,
	PUBLIC_LIMITS,
	refuseTakenPort,
} from "./outside/http-server.ts";
import { createLoad } from "./outside/load.ts";
import { findProcessFigures } from "./outside/process-figures.ts";
import { tellServiceManager } from "./outside/service-manager.ts";
import { temporaryFilesBeside, temporaryFilesOfSystem } from "./outside/temporary-files.ts";
import { makeFirstStaffPath } from "./people/sign-in-links.ts";
import type { AnsweredRequest, Load, Log } from "./ports.ts";
import type { StopSignal } from "./service/stop-signals.ts";
import { tellPresence, watchFigures, watchSchema } from "./service/upkeep.ts";
import {
	addMail,
	type OpenedParts,
	type OpenOptions,
	openParts,
	StartError,
	type Workplace,
} from "./service/workplace.ts";
import { readSystem } from "./store/queries/system.ts";
import { isDatabaseUnavailable } from "./store/unavailable.ts";
import { findWarnings, isLasting } from "./watch/checks.ts";
import { startChores, startJobChore, startTelling } from "./watch/chores.ts";
import { createInstallationWatch, WATCH_INTERVAL_MS } from "./watch/installation-watch.ts";
import { startLoop } from "./watch/loop.ts";
import { createMetrics } from "./watch/metrics.ts";

export interface Service extends Workplace {
	url: string;
	/** Where /metrics and the detailed health are; null where they are off. */
	metricsUrl: string | null;
	/** Makes the first staff account; null once there is one that can sign in, and in a worker. */
	welcomeLink: string | null;
	/** Resolves when a newer program has changed the schema beyond this one: it is to be stopped then. */
	outdated: Promise<Error>;
	/** Of the start, for whoever made it. */
	warnings: readonly Warning[];
	/** Finishes what is in flight, takes no more, gives back the rest. */
	stop(options?: StopOptions): Promise<void>;
}

interface StopOptions {
	/** For the log. */
	cause?: StopSignal | "outdated";
	/** Unready for so long before it is closed to newcomers. Not in a worker: nobody sends it requests. */
	drainMs?: number;
}

export async function startService(config: Config, options: OpenOptions = {}): Promise<Service> {
	// A worker does without: pages and sign-in are half of the memory of a process that serves them.
	const web = config.role === "worker" ? null : await import("./app.ts");
	// Before the database is made or migrated.
	await refuseTakenPort(config.host, config.port);
	const parts = await openParts(config, options, config.role);
	const { store, clock, log, random, readDisk } = parts;
	const startedAtMs = clock.nowMs();
	const load = createLoad();
	const metrics = createMetrics([load.lags, ...findProcessFigures()]);
	const onAnswered = (request: AnsweredRequest): void => {
		metrics.countRequest(request);
		if (config.accessLog) writeAccess(parts.accessLog, request);
	};
	const listeners: HttpServer[] = [];
	const installation = createInstallationWatch({
		clock,
		log,
		settings: warningSettings(config),
		host: config.host,
		clockOffsetMs: clock.offsetMs,
		readSystem: () => readSystem(store.db, clock.nowMs()),
		readDisk,
	});
	try {
		await installation.look();
		const warnings = findWarnings(installation.state()).filter(isLasting);
		const welcomePath = config.role === "worker" ? null : await offerFirstStaff(parts);
		const { host, port, trustedProxies } = config;
		// Before the rest, because only now the port is known.
		const recording = { random, trustedProxies, onAnswered };
		const site = await listen({ host, port, limits: PUBLIC_LIMITS, log, recording });
		listeners.push(site);
		const numbers = await listenForMetrics(config, log);
		if (numbers !== null) listeners.push(numbers);
		const workplace = addMail(parts, publicUrlAt(config, site.port));
		// So that the first answer knows it; whoever signs or checks something makes sure of it by themselves.
		await parts.network.read();
		const { publicUrl } = workplace;
		const worker = config.role === "web" ? null : startWorker(workplace, load);
		const engine = worker?.engine ?? null;
		const figures = worker === null ? null : watchFigures(workplace);
		const presence = tellPresence({
			...workplace,
			startedAtMs,
			readEngine: () => {
				if (engine === null) return NO_ENGINE;
				const { waitingOrInFlight, backlog } = engine.counters;
				return {
					in_hand: waitingOrInFlight,
					programmes_due: backlog.programmesDue,
					oldest_due_at_ms: backlog.oldestDueAtMs,
					most_in_flight: config.maxInFlight,
				};
			},
			readMailFailure: () => workplace.mailer?.failure ?? null,
		});
		const jobs = startJobChore(workplace);
		const telling = startTelling(workplace);
		const watch = startLoop({
			clock,
			everyMs: WATCH_INTERVAL_MS,
			firstAfterMs: WATCH_INTERVAL_MS,
			run: installation.look,
			onFailure: (error) => log.error({ err: error }, "the installation could not be looked at"),
		});
		const schema = watchSchema(workplace);
		let unready: Unready | null = null;
		const stopping = new AbortController();
		const engineCounters = engine === null ? null : () => engine.counters;
		const { version } = workplace.identity;
		const schemaVersion = workplace.migration.version;
		metrics.describe({
			clock,
			identity: { ...workplace.identity, schemaVersion },
			connections: store.connections,
			engineCounters,
			figures: figures?.read ?? null,
			state: installation.state,
			droppedLogLines: workplace.droppedLogLines,
		});
		const { database } = config;
		const limitedCalls = createLimitedCalls(workplace);
		const clickCounts = createClickCounts(workplace);
		const storing = createStoringWatch(clock);
		const appDeps = {
			...workplace,
			jobs: { wake: jobs.runSoon },
			system: workplace.identity,
			isPublicUrlSet: config.publicUrl !== null,
			clickUrl: config.clickUrl ?? publicUrl,
			retentionDays: config.retentionDays,
			allowsPrivateRanges: config.allowedPrivateRanges.length > 0,
			staffAuthenticator: config.staffAuthenticator,
			trustedProxies: config.trustedProxies,
			metrics,
			limitedCalls,
			clickCounts,
			storing,
			installation,
			temporaryFiles:
				database.kind === "sqlite" ? temporaryFilesBeside(database.path) : temporaryFilesOfSystem(),
			unready: () => {
				if (unready !== null) return unready;
				if (schema.problem !== null) return { reason: schema.problem.message };
				if (storing.isFailing()) return NOT_STORING;
				return clock.isSure() ? null : UNSURE;
			},
			stopSignal: stopping.signal,
		};
		site.serve(web === null ? createWorkerApp(appDeps) : web.createApp(appDeps));
		const { state } = installation;
		const about = { version, schemaVersion, role: config.role, startedAtMs, engineCounters, state };
		numbers?.serve(createMetricsApp(appDeps, about));
		if (config.serviceManager !== null) tellServiceManager(config.serviceManager, log);
		return {
			...workplace,
			url: site.url,
			metricsUrl: numbers?.url ?? null,
			welcomeLink: welcomePath === null ? null : `${publicUrl}${welcomePath}`,
			outdated: schema.outdated,
			warnings,
			async stop({ cause, drainMs = 0 }: StopOptions = {}) {
				unready = "stopping";
				// Before anything else: the engine gives its slots to the other processes, and hands out nothing that it could
				// not finish.
				const slotsGivenUp = worker?.stop();
				if (drainMs > 0 && web !== null) {
					log.info({ cause, drainMs }, "stopping: not ready any more, and still answering");
					site.endConnections();
					await new Promise<void>((resolve) => clock.after(drainMs, resolve));
				}
				log.info({ cause }, "stopping: finishing what is in flight");
				stopping.abort();
				const closing = listeners.map((listener) => listener.close());
				await Promise.all([
					schema.stop(),
					...closing,
					slotsGivenUp,
					figures?.stop(),
					presence.stop(),
					jobs.stop(),
					telling?.stop(),
					workplace.mails.stop(),
					watch.stop(),
				]);
				// After the last call was answered, and while there is a database to write it to.
				await limitedCalls.stop();
				await clickCounts.flush();
				load.stop();
				await workplace.close();
				log.info({ cause }, "stopped");
			},
		};
	} catch (error) {
		load.stop();
		const closing = listeners.map((listener) => listener.close());
		await Promise.all(closing);
		await parts.close();
		throw error;
	}
}

const NOT_STORING: Unready = {
	reason: "The database answers but stores nothing: see the log. Is the disk of its server full?",
};

const UNSURE: Unready = {
	reason: "This machine's clock and the database server's are more than a minute apart: set both by NTP.",
};

/** Several processes on one machine: the address that nobody chose is the first one's, the others do without. */
async function listenForMetrics(config: Config, log: Log): Promise<HttpServer | null> {
	if (config.metricsAddress === null) return null;
	const { host, port, isDefault } = config.metricsAddress;
	try {
		return await listen({ host, port, limits: METRICS_LIMITS, log });
	} catch (error) {
		const reason = error instanceof Error ? error.message : String(error);
		if (!isDefault) {
			throw new StartError(
				`RINGBACK_METRICS_ADDRESS cannot be listened on (${reason}). Choose another address or port, or off.`,
			);
		}
		log.warn(
			{ host, port, reason },
			"this process has no /metrics: the default address cannot be used. Set RINGBACK_METRICS_ADDRESS to an address of its own, or to off",
		);
		return null;
	}
}

/** A database that takes nothing just now must not keep callbacks from going out: the next start offers it again. */
async function offerFirstStaff(workplace: OpenedParts): Promise<string | null> {
	try {
		return await makeFirstStaffPath(workplace);
	} catch (error) {
		if (!isDatabaseUnavailable(error)) throw error;
		workplace.log.error(
			{ err: error },
			"the link for the first staff account could not be made; start again",
		);
		return null;
	}
}

interface Worker {
	engine: Engine;
	stop(): Promise<void>;
}

/** What delivers callbacks and does the periodic work. */
function startWorker(workplace: Workplace, load: Load): Worker {
	const { config } = workplace;
	const engine = new Engine({
		...workplace,
		wire: workplace.network.wire,
		caps: { perProgramme: config.maxInFlightPerProgramme, overall: config.maxInFlight },
		load,
		onNotice: () => chores.mailNow(),
	});
	const chores = startChores({ ...workplace, retentionDays: config.retentionDays });
	return {
		engine,
		async stop() {
			await Promise.all([engine.stop(), chores.stop()]);
		},
	};
}
