// Numbers for Prometheus, in a registry of their own: two apps in one process do not mix. All of them are in memory
// already: reading them costs the database nothing, however long the queue is and however often they are read.

import { Counter, Gauge, Registry } from "prom-client";
import { type EngineCounters, oldestDueAgeMs } from "../callbacks/counters.ts";
import type { ChoreReport } from "../domain/chore.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";
import type { InboundKind } from "../store/tables/inbound.ts";
import { addChoreSeries } from "./chore-metrics.ts";

export interface Metrics {
	/** Outcome words and fault codes: a closed set, so that the series stay few. */
	countInbound(kind: InboundKind, outcome: string): void;
	answer(): Promise<Response>;
}

export interface MetricsDeps {
	clock: Pick<Clock, "nowMs">;
	/** Null in a process that has no callback engine. */
	engineCounters: (() => EngineCounters) | null;
	/** Of the chores that this process runs. */
	choreReports: () => readonly ChoreReport[];
	/** Of this process against the database server; null where there is only one clock. */
	clockOffsetMs: () => number | null;
}

export function createMetrics({ clock, engineCounters, choreReports, clockOffsetMs }: MetricsDeps): Metrics {
	const registry = new Registry();
	const inbound = new Counter({
		name: "ringback_inbound_calls_total",
		help: "Calls of the signed API and the pixel, by outcome word or fault code",
		labelNames: ["kind", "outcome"],
		registers: [registry],
	});
	addGauge(registry, "process_resident_memory_bytes", "Resident memory size in bytes", () =>
		process.memoryUsage.rss(),
	);
	addGauge(
		registry,
		"ringback_clock_offset_seconds",
		"How far this machine's clock was ahead of the database server's when last compared (every minute); below 0 when behind",
		() => (clockOffsetMs() ?? 0) / SECOND_MS,
	);
	addChoreSeries(registry, choreReports, clock);
	if (engineCounters !== null) addEngineSeries(registry, engineCounters, clock);
	return {
		countInbound: (kind, outcome) => inbound.inc({ kind, outcome }),
		async answer() {
			return new Response(await registry.metrics(), {
				headers: { "content-type": registry.contentType, "cache-control": "no-store" },
			});
		},
	};
}

/** The engine counts for itself; its numbers are copied at each scrape. */
function addEngineSeries(registry: Registry, read: () => EngineCounters, clock: Pick<Clock, "nowMs">): void {
	addGauge(
		registry,
		"ringback_oldest_due_age_seconds",
		"How long the longest-waiting due delivery has been due when the engine last looked (every 5 s); 0 when none is; counts on while it cannot look",
		() => {
			const { backlog } = read();
			return backlog === null ? Number.NaN : oldestDueAgeMs(backlog, clock.nowMs()) / SECOND_MS;
		},
	);
	addGauge(
		registry,
		"ringback_programmes_due",
		"Programmes with at least one delivery that was due and not under way when the engine last looked",
		() => read().backlog?.programmesDue ?? Number.NaN,
	);
	addCounter(registry, "ringback_attempts_total", "Stored attempts by verdict", () =>
		[...read().attemptsByVerdict].map(([verdict, count]) => [{ verdict }, count]),
	);
	addCounter(registry, "ringback_deliveries_finished_total", "Deliveries that came to a final state", () => {
		const { finished, cancelled } = read();
		return Object.entries({ ...finished, cancelled }).map(([state, count]) => [{ state }, count]);
	});
	addCounter(
		registry,
		"ringback_late_results_total",
		"Results that came after another engine had taken over",
		() => [[{}, read().lateResults]],
	);
	addCounter(registry, "ringback_engines_taken_over_total", "Engines that had fallen silent", () => [
		[{}, read().takenOver],
	]);
	addCounter(
		registry,
		"ringback_missed_lanes_total",
		"Receivers with something due that no engine would have looked at; must stay 0",
		() => [[{}, read().missedLanes]],
	);
	addCounter(
		registry,
		"ringback_attempts_lost_to_lateness_total",
		"Attempts that ran out of time because this process was too busy to keep the deadline; must stay 0",
		() => [[{}, read().lostToLateness]],
	);
	addGauge(registry, "ringback_lanes", "Lanes leased to this process", () => read().lanes);
	addGauge(registry, "ringback_in_flight", "Requests to shops under way now", () => read().inFlight);
	addGauge(
		registry,
		"ringback_in_hand",
		"Deliveries in the hands of this process: waiting to be sent or under way",
		() => read().inHand,
	);
}

function addGauge(registry: Registry, name: string, help: string, read: () => number): void {
	new Gauge({
		name,
		help,
		registers: [registry],
		collect() {
			this.set(read());
		},
	});
}

type Counted = readonly [labels: Readonly<Record<string, string>>, count: number];

function addCounter(registry: Registry, name: string, help: string, read: () => readonly Counted[]): void {
	new Counter({
		name,
		help,
		labelNames: ["verdict", "state"],
		registers: [registry],
		collect() {
			this.reset();
			for (const [labels, count] of read()) this.inc({ ...labels }, count);
		},
	});
}
