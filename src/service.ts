// Turns a Config into a running service, and stops the service in order. Only this file and service/ import
// the real implementations in outside/. All other code uses the interfaces of core/ports.ts.

import { writeAccess } from "#core/api/access-log.ts";
import { createMetricsApp, createWorkerApp } from "#core/api/bare-app.ts";
import type { LimitedCalls, Unready } from "#core/api/deps.ts";
import { createStoringWatch } from "#core/api/health.ts";
import { createLimitedCalls } from "#core/api/limited-pixel-calls.ts";
import type { Warning } from "#core/domain/warning.ts";
import { makeFirstStaffPath } from "#core/people/sign-in-links.ts";
import type { AnsweredRequest, Log } from "#core/ports.ts";
import { readSystem } from "#core/store/queries/system.ts";
import { isDatabaseUnavailable } from "#core/store/unavailable.ts";
import { type ClickCounts, createClickCounts } from "#modules/partners/use-cases/click-counts.ts";
import type { AllDeps } from "./app.ts";
import { type Config, publicUrlAt, warningSettings } from "./config.ts";
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
import { type BackgroundWork, startBackgroundWork } from "./service/background-work.ts";
import { StartError } from "./service/start-error.ts";
import type { StopSignal } from "./service/stop-signals.ts";
import {
	addMail,
	type OpenedParts,
	type OpenOptions,
	openParts,
	type Workplace,
} from "./service/workplace.ts";
import { findWarnings, isLasting } from "./watch/checks.ts";
import { createInstallationWatch, type InstallationWatch } from "./watch/installation-watch.ts";
import { type Loop, startLoop } from "./watch/loop.ts";
import { createMetrics, type Metrics } from "./watch/metrics.ts";
import { createReadiness } from "./watch/readiness.ts";

export interface Service extends Workplace {
	url: string;
	/** URL of /metrics and the detailed health check, or null if both are switched off. */
	metricsUrl: string | null;
	/**
	 * Link that creates the first staff account. Null in a worker, and if a staff account exists that can sign
	 * in.
	 */
	welcomeLink: string | null;
	/**
	 * Resolves when this process cannot continue, because a newer program has changed the schema or because the
	 * sealing key was replaced by one that this process does not know. The service must then be stopped.
	 */
	outdated: Promise<Error>;
	warnings: readonly Warning[];
	/**
	 * Stops the service. It accepts no more requests, finishes requests and callbacks in flight, and releases
	 * all resources.
	 */
	stop(options?: StopOptions): Promise<void>;
}

interface StopOptions {
	cause?: StopSignal | "outdated";
	/**
	 * Time for which the service reports that it is not ready before it closes its port. A worker gets no
	 * requests and skips this time.
	 */
	drainMs?: number;
}

/**
 * Starts a service in this order:
 *
 *   1. It opens the parts that commands use, too: database, clock, keys, transport, mail.
 *   2. It listens, because links must contain the port. Requests wait until step 4.
 *   3. It starts the background work: engine, chores, reports.
 *   4. It serves requests.
 *
 * If a step fails, the steps before it are undone in reverse order.
 */
export async function startService(config: Config, options: OpenOptions = {}): Promise<Service> {
	// Pages and sign-in need half of a process's memory, so a worker does not load them.
	const web = config.role === "worker" ? null : await import("./app.ts");
	// The port is checked before the database is created or migrated.
	await refuseTakenPort(config.host, config.port);
	const parts = await openParts(config, options, config.role);
	const opened = new AsyncDisposableStack();
	opened.defer(() => parts.close());
	try {
		return await startOpened(config, parts, web, opened);
	} catch (error) {
		await opened.disposeAsync();
		throw error;
	}
}

type WebModule = typeof import("./app.ts");

async function startOpened(
	config: Config,
	parts: OpenedParts,
	web: WebModule | null,
	opened: AsyncDisposableStack,
): Promise<Service> {
	const { clock, log } = parts;
	const startedAtMs = clock.nowMs();
	const load = createLoad();
	opened.defer(load.stop);
	const metrics = createMetrics([load.lags, ...findProcessFigures()]);
	const installation = watchInstallation(config, parts);
	await installation.look();
	const warnings = findWarnings(installation.state()).filter(isLasting);
	const welcomePath = web === null ? null : await offerFirstStaff(parts);
	const site = await listenForRequests(config, parts, metrics);
	opened.defer(() => site.close());
	const metricsSite = await listenForMetrics(config, log);
	if (metricsSite !== null) opened.defer(() => metricsSite.close());
	const workplace = addMail(parts, publicUrlAt(config, site.port));
	// The network is read here, so that the first answer already shows its name. Code that signs or verifies
	// reads the brand itself.
	await parts.network.read();

	const background = startBackgroundWork({ workplace, installation, load, startedAtMs });
	opened.defer(background.stop);
	const app = createAppState({ config, workplace, metrics, installation, background });
	opened.defer(() => app.readinessLoop.stop());
	serveRequests({
		config,
		workplace,
		metrics,
		installation,
		background,
		startedAtMs,
		app,
		web,
		site,
		metricsSite,
	});
	if (config.serviceManager !== null) tellServiceManager(config.serviceManager, log);

	return {
		...workplace,
		url: site.url,
		metricsUrl: metricsSite?.url ?? null,
		welcomeLink: welcomePath === null ? null : `${workplace.publicUrl}${welcomePath}`,
		outdated: background.fitness.outdated,
		warnings,
		async stop({ cause, drainMs = 0 }: StopOptions = {}) {
			app.becomeUnready();
			// The engine releases its slots first, so that other processes can send, and starts no attempt that it could not
			// finish.
			background.releaseSlots();
			if (drainMs > 0 && web !== null) {
				log.info({ cause, drainMs }, "stopping: unready, and still answering");
				site.endConnections();
				await new Promise<void>((resolve) => clock.after(drainMs, resolve));
			}
			log.info({ cause }, "stopping: finishing what is in flight");
			app.endStreams();
			await Promise.all([site.close(), metricsSite?.close(), background.stop(), app.readinessLoop.stop()]);
			// These parts write to the database, so they are stopped after the last answer and before the database
			// is closed.
			await app.limitedCalls.stop();
			await app.clickCounts.flush();
			load.stop();
			await workplace.close();
			log.info({ cause }, "stopped");
		},
	};
}

function watchInstallation(
	config: Config,
	{ store, clock, log, readDisk, certificates }: OpenedParts,
): InstallationWatch {
	return createInstallationWatch({
		clock,
		log,
		settings: warningSettings(config),
		host: config.host,
		clockOffsetMs: clock.offsetMs,
		readSystem: () => readSystem(store.db, clock.nowMs()),
		readDisk,
		readCertificates: certificates.last,
	});
}

function listenForRequests(config: Config, parts: OpenedParts, metrics: Metrics): Promise<HttpServer> {
	const { host, port, trustedProxies } = config;
	const { log, random, accessLog } = parts;
	const onAnswered = (request: AnsweredRequest): void => {
		metrics.countRequest(request);
		if (config.accessLog) writeAccess(accessLog, request);
	};
	const recording = { random, trustedProxies, onAnswered };
	return listen({ host, port, limits: PUBLIC_LIMITS, log, recording });
}

interface RunningParts {
	config: Config;
	workplace: Workplace;
	metrics: Metrics;
	installation: InstallationWatch;
	background: BackgroundWork;
}

/** Dependencies of the HTTP apps, and the parts that must be stopped with the service. */
interface AppState {
	deps: AllDeps;
	limitedCalls: LimitedCalls;
	clickCounts: ClickCounts;
	/** Loop that checks the database for the metric `ringback_ready`, even if nobody requests `/readyz`. */
	readinessLoop: Loop;
	becomeUnready(): void;
	endStreams(): void;
}

function createAppState({ config, workplace, metrics, installation, background }: RunningParts): AppState {
	const { clock, publicUrl, log } = workplace;
	const { database } = config;
	// Calls that failed before the failover or restart of the database say nothing about its present state, so they are
	// forgotten.
	const readiness = createReadiness({ ...workplace, onUsable: () => storing.note(null) });
	const readinessLoop = startLoop({
		clock,
		everyMs: readiness.nextCheckMs,
		run: readiness.check,
		onFailure: (error) => log.error({ err: error }, "the check of the database failed"),
	});
	const limitedCalls = createLimitedCalls(workplace);
	const clickCounts = createClickCounts(workplace);
	const storing = createStoringWatch(clock, readinessLoop.runSoon);
	const stopping = new AbortController();
	let isStopping = false;
	const unready = (): Unready | null => {
		if (isStopping) return "stopping";
		if (background.fitness.problem !== null) return { reason: background.fitness.problem.message };
		if (storing.isFailing()) return NOT_STORING;
		return clock.isSure() ? null : UNSURE;
	};
	return {
		limitedCalls,
		clickCounts,
		readinessLoop,
		becomeUnready() {
			isStopping = true;
		},
		endStreams: () => stopping.abort(),
		deps: {
			...workplace,
			jobs: { wake: () => background.wake("jobs") },
			system: workplace.identity,
			isPublicUrlSet: config.publicUrl !== null,
			clickUrl: config.clickUrl ?? publicUrl,
			retentionDays: config.retentionDays,
			statementYears: config.statementYears,
			allowsPrivateRanges: config.allowedPrivateRanges.length > 0,
			staffAuthenticator: config.staffAuthenticator,
			trustedProxies: config.trustedProxies,
			metrics,
			limitedCalls,
			clickCounts,
			storing,
			readiness,
			installation,
			temporaryFiles:
				database.kind === "sqlite" ? temporaryFilesBeside(database.path) : temporaryFilesOfSystem(),
			unready,
			stopSignal: stopping.signal,
		},
	};
}

interface ServedParts extends RunningParts {
	startedAtMs: number;
	app: AppState;
	web: WebModule | null;
	site: HttpServer;
	metricsSite: HttpServer | null;
}

function serveRequests(parts: ServedParts): void {
	const { config, workplace, metrics, installation, background, startedAtMs, app, web, site, metricsSite } =
		parts;
	const { engine } = background;
	const engineCounters = engine === null ? null : () => engine.counters;
	const schemaVersion = workplace.migration.version;
	metrics.describe({
		clock: workplace.clock,
		identity: { ...workplace.identity, schemaVersion },
		connections: workplace.store.connections,
		engineCounters,
		figures: background.readFigures,
		state: installation.state,
		isReady: () => app.deps.readiness.last() === "answers" && app.deps.unready?.() == null,
		droppedLogLines: workplace.droppedLogLines,
	});
	site.serve(web === null ? createWorkerApp(app.deps) : web.createApp(app.deps));
	metricsSite?.serve(
		createMetricsApp(app.deps, {
			version: workplace.identity.version,
			schemaVersion,
			role: config.role,
			startedAtMs,
			engineCounters,
			state: installation.state,
		}),
	);
}

const NOT_STORING: Unready = {
	reason:
		"The database answers but stores nothing: see the log. The server may be read-only, or its disk full.",
};

const UNSURE: Unready = {
	reason:
		"This machine's clock and the database server's are more than a minute apart: set both by NTP. If the machine was only suspended, the database is being asked for the time.",
};

/**
 * Listens for metrics. If several processes with the default address run on one machine, only the first one
 * serves metrics.
 */
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

/**
 * Returns the link that creates the first staff account. Returns null if the database refuses writes, because the
 * service must start even then to send callbacks. The next start tries again.
 */
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
