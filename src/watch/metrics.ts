// Metrics for Prometheus. All values are already in memory, so a scrape makes no query, however long the
// queue is. `npm run docs` writes the tables of docs/operations/metrics.md from the series declared here.

import { Counter, Gauge, Histogram, type Metric, Registry } from "prom-client";
import type { EngineCounters } from "#core/callbacks/counters.ts";
import type { ChoreRecord } from "#core/domain/chore.ts";
import { SECOND_MS } from "#core/domain/time.ts";
import type { AnsweredRequest, Clock, DiskSpace } from "#core/ports.ts";
import { countFailing } from "#core/store/queries/delivery-health.ts";
import type { Figures } from "#core/store/queries/figures.ts";
import type { Connections } from "#core/store/store.ts";
import type { InboundKind } from "#core/store/tables/inbound.ts";
import { CHECKS, findLateChores, findWarnings, type WatchedState } from "./checks.ts";

export interface Metrics {
	/**
	 * Counts a call. `outcome` is an outcome word or a fault code. Both come from fixed lists, so the number of
	 * series stays small.
	 */
	countInbound(kind: InboundKind, outcome: string): void;
	countRequest(request: AnsweredRequest): void;
	/** Adds the series about the service. It is called once, when the service has started. */
	describe(service: WatchedService): void;
	answer(): Promise<Response>;
	listSeries(): readonly { name: string; help: string }[];
}

export interface WatchedService {
	clock: Pick<Clock, "nowMs">;
	/**
	 * Identity of the process. `instance` is a random id that is generated when the process starts, and every
	 * log line contains it.
	 */
	identity: { instance: string; role: string; version: string; schemaVersion: number };
	connections: () => Connections;
	/** Returns the counters of the callback engine. Null in a process that has no engine. */
	engineCounters: (() => EngineCounters) | null;
	/**
	 * Returns the figures of the whole installation, or null if they have not been read yet. The function
	 * itself is null in a process with the role web.
	 */
	figures: (() => InstallationFigures | null) | null;
	state: () => WatchedState;
	/** Returns whether the process was ready when it last checked. */
	isReady: () => boolean;
	/** Returns the number of log lines that were dropped because they were not read in time. */
	droppedLogLines: () => number;
}

export interface InstallationFigures extends Figures {
	/** Space of the disk that holds the SQLite file. Null if the database is on a server. */
	disk: DiskSpace | null;
}

/** Upper bounds of the histogram buckets, in seconds. */
const HEAD_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/**
 * HTTP methods that are counted by name. All others count as "other", because a caller may send any word as
 * the method.
 */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Creates the metrics of a process. `runtimeMetrics` are metrics that Node provides about itself. */
export function createMetrics(runtimeMetrics: readonly Metric[]): Metrics {
	const registry = new Registry();
	for (const metric of runtimeMetrics) registry.registerMetric(metric);
	const registers = [registry];
	const inbound = new Counter({
		name: "ringback_inbound_calls_total",
		help: "Calls of the signed API and the pixel, by outcome word or fault code",
		labelNames: ["kind", "outcome"],
		registers,
	});
	const requests = new Counter({
		name: "ringback_http_requests_total",
		help: "Requests to the public port, by method, route and status. The status is aborted if the caller left before the answer",
		labelNames: ["method", "route", "status"],
		registers,
	});
	const heads = new Histogram({
		name: "ringback_http_request_duration_seconds",
		help: "Time from a request to the first byte of its answer, by method and route",
		labelNames: ["method", "route"],
		buckets: HEAD_BOUNDS,
		registers,
	});
	return {
		countInbound: (kind, outcome) => inbound.inc({ kind, outcome }),
		// Requests are counted by the pattern of the route, because paths contain ids and tokens, and their number is unlimited.
		countRequest({ method: requestMethod, route: pattern, status, headMs }) {
			const route = pattern ?? "other";
			const method = METHODS.has(requestMethod) ? requestMethod : "other";
			requests.inc({ method, route, status: status === null ? "aborted" : String(status) });
			heads.observe({ method, route }, headMs / SECOND_MS);
		},
		describe(service) {
			const series = openSeries(registry);
			const { engineCounters, figures } = service;
			if (engineCounters !== null) describeEngine(registry, series, engineCounters, service.clock);
			if (figures !== null) describeFigures(series, figures);
			describeState(series, service.state);
			describeProcess(registry, series, service);
		},
		answer: async () =>
			new Response(await registry.metrics(), {
				headers: { "content-type": registry.contentType, "cache-control": "no-store" },
			}),
		listSeries: () => registry.getMetricsAsArray(),
	};
}

/** Value of a series. A series whose value is null or undefined is left out. */
type Value = number | null | undefined;
type Labelled = Iterable<readonly [label: string, value: Value]>;

/**
 * Functions that add series whose values are read at each scrape. `gauges` and `counters` add one series for each
 * value of a label.
 */
interface Series {
	gauge(name: string, help: string, read: () => Value): void;
	gauges(name: string, help: string, label: string, read: () => Labelled): void;
	counter(name: string, help: string, read: () => Value): void;
	counters(name: string, help: string, label: string, read: () => Labelled): void;
}

function openSeries(registry: Registry): Series {
	const open =
		(Kind: typeof Gauge | typeof Counter) =>
		(name: string, help: string, label: string, read: () => Labelled): void => {
			const labelNames = label === "" ? [] : [label];
			const collect = (): void => fill(metric, label, read());
			const metric: Gauge | Counter = new Kind({ name, help, labelNames, registers: [registry], collect });
		};
	const [gauges, counters] = [open(Gauge), open(Counter)];
	const single = (read: () => Value) => () => [["", read()] as const];
	return {
		gauge: (name, help, read) => gauges(name, help, "", single(read)),
		gauges,
		counter: (name, help, read) => counters(name, help, "", single(read)),
		counters,
	};
}

function fill(metric: Pick<Gauge, "reset" | "remove" | "inc">, label: string, values: Labelled): void {
	metric.reset();
	for (const [labelValue, value] of values) {
		if (typeof value === "number") metric.inc(label === "" ? {} : { [label]: labelValue }, value);
		else if (label === "") metric.remove();
	}
}

function describeEngine(
	registry: Registry,
	{ gauge, counter, counters }: Series,
	read: () => EngineCounters,
	clock: Pick<Clock, "nowMs">,
): void {
	const { firstAnswers, sendDelays, attemptTimes, passTimes } = read();
	for (const histogram of [firstAnswers, sendDelays, attemptTimes, passTimes])
		registry.registerMetric(histogram);
	gauge(
		"ringback_oldest_due_age_seconds",
		"Time for which the oldest due delivery of this engine's slots has been due, or 0 if none is due",
		() => Math.max(0, clock.nowMs() - (read().backlog.oldestDueAtMs ?? clock.nowMs())) / SECOND_MS,
	);
	gauge(
		"ringback_programmes_due",
		"Programmes of this engine's slots with at least one delivery that is due and not in flight",
		() => read().backlog.receiversDue,
	);
	counters(
		"ringback_attempts_total",
		"Stored attempts by verdict",
		"verdict",
		() => read().attemptsByVerdict,
	);
	counters("ringback_deliveries_finished_total", "Deliveries that came to a final state", "state", () => {
		const { finished, cancelled } = read();
		return Object.entries({ ...finished, cancelled });
	});
	counter(
		"ringback_late_results_total",
		"Results that arrived after the engine had lost its slots",
		() => read().lateResults,
	);
	counter(
		"ringback_engines_taken_over_total",
		"Silent engines that this engine removed, which freed their slots",
		() => read().endedEngines,
	);
	counter(
		"ringback_missed_programmes_total",
		"Programmes with a due delivery of which the engine was not notified. It must stay 0",
		() => read().missed,
	);
	gauge("ringback_slots", "Slots of programmes that this process sends to, of 64", () => read().slots);
	gauge("ringback_in_flight", "Requests to shops in flight now", () => read().inFlight);
	gauge(
		"ringback_in_hand",
		"Deliveries in the memory of this process that wait to be sent or are in flight",
		() => read().waitingOrInFlight,
	);
}

/**
 * Adds the figures of the whole installation. All processes that deliver callbacks report the same figures,
 * read at slightly different times.
 */
function describeFigures({ gauge, gauges }: Series, read: () => InstallationFigures | null): void {
	gauge(
		"ringback_figures_timestamp_seconds",
		"Time at which this process last read the figures below, up to those of the disk. It reads them once a minute",
		() => inSeconds(read()?.readAtMs),
	);
	gauge(
		"ringback_queue_depth",
		"Deliveries in the queue, due now or later. Estimated above 100,000 on PostgreSQL",
		() => read()?.queued,
	);
	gauge(
		"ringback_failing_programmes",
		"Programmes whose callbacks are failing seriously now, up to 200",
		() => {
			const figures = read();
			return figures && countFailing(figures.failing);
		},
	);
	// The series are labelled with the public id, because a shop's name may change and does not belong on a
	// dashboard.
	const shops = () => read()?.failing.receivers ?? [];
	gauges(
		"ringback_failing_programme_undelivered",
		"Undelivered callbacks of the programmes that are failing the most, 20 at most, each counted up to 2,000",
		"programme",
		() => shops().map(({ publicId, waiting, failed }) => [publicId, waiting + failed]),
	);
	gauge("ringback_failing_partners", "Partners whose callbacks are failing seriously now, up to 200", () => {
		const figures = read();
		return figures && countFailing(figures.failingPartners);
	});
	const partners = () => read()?.failingPartners.receivers ?? [];
	gauges(
		"ringback_failing_partner_undelivered",
		"Undelivered callbacks of the partners that are failing the most, 20 at most, each counted up to 2,000",
		"partner",
		() => partners().map(({ publicId, waiting, failed }) => [publicId, waiting + failed]),
	);
	gauge(
		"ringback_unmailed_notices",
		"Notices that should have been mailed by now, up to 10,000. They are counted even if there is no mail server",
		() => read()?.unmailedNotices,
	);
	gauge(
		"ringback_waiting_mails",
		"Mails about accounts and programmes that should have been sent by now, up to 10,000",
		() => read()?.waitingMails,
	);
	gauge("ringback_database_size_bytes", "Size of the database with its indexes", () => read()?.databaseBytes);
	gauge(
		"ringback_disk_free_bytes",
		"Free space on the disk of the SQLite file. There is no value for PostgreSQL, whose disk is on its server",
		() => read()?.disk?.freeBytes,
	);
	gauge("ringback_disk_size_bytes", "Size of the disk of the SQLite file", () => read()?.disk?.sizeBytes);
}

function describeState({ gauge, gauges }: Series, read: () => WatchedState): void {
	gauges("ringback_warnings", "Warnings to staff, by the check that found them", "check", () => {
		const found = findWarnings(read());
		return CHECKS.map(({ kind }) => [kind, found.filter((warning) => warning.kind === kind).length]);
	});
	const chores = (name: string, help: string, value: (record: ChoreRecord) => Value) =>
		gauges(name, help, "chore", () => read().chores.map((record) => [record.name, value(record)]));
	chores("ringback_chore_late", "1 if no process has done the chore in time", ({ name }) =>
		findLateChores(read()).some((late) => late.name === name) ? 1 : 0,
	);
	chores(
		"ringback_chore_last_success_timestamp_seconds",
		"Time at which any process last did the chore",
		({ last_success_ms }) => inSeconds(last_success_ms ?? undefined),
	);
	chores(
		"ringback_chore_failures_in_a_row",
		"Number of failures of the chore since its last success",
		({ failures }) => failures,
	);
	gauge(
		"ringback_delivery_paused",
		"1 while staff hold all callbacks (`ringback hold`, or on System). Read every 15 s",
		() => (read().pause === null ? 0 : 1),
	);
	gauge(
		"ringback_clock_offset_seconds",
		"Seconds by which this machine's clock is ahead of the database server's. Below 0 if it is behind",
		() => inSeconds(read().clockOffsetMs ?? 0),
	);
}

function describeProcess(
	registry: Registry,
	{ gauge, gauges, counter }: Series,
	service: WatchedService,
): void {
	const { version, role, instance, schemaVersion } = service.identity;
	new Gauge({
		name: "ringback_build_info",
		help: "Always 1. Its labels say which version runs",
		labelNames: ["version", "runtime", "role", "process"],
		registers: [registry],
	}).set({ version, runtime: process.version, role, process: instance }, 1);
	gauge(
		"ringback_ready",
		"1 if the process can work. 0 while it stops, and while the database does not answer or is read-only. At most five seconds old",
		() => (service.isReady() ? 1 : 0),
	);
	gauge(
		"ringback_schema_version",
		"Version of the database's schema when this process started",
		() => schemaVersion,
	);
	// SQLite uses a single connection, so there is no pool to report.
	gauges(
		"ringback_database_connections",
		"Connections to the database that this process has, by state: in_use or idle",
		"state",
		() => {
			const { inUse, idle } = service.connections();
			return Object.entries({ in_use: inUse, idle });
		},
	);
	gauge(
		"ringback_database_connections_limit",
		"Maximum number of connections to the database that this process may have",
		() => service.connections().limit,
	);
	gauge(
		"ringback_database_waiting",
		"Requests of this process that wait for a free connection to the database",
		() => service.connections().waiting,
	);
	counter(
		"ringback_log_lines_dropped_total",
		"Lines of the log that were dropped because they were not read in time. It must stay 0",
		service.droppedLogLines,
	);
}

function inSeconds(ms: number | undefined): number | undefined {
	return ms === undefined ? undefined : ms / SECOND_MS;
}
