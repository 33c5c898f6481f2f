// Numbers for Prometheus, in a registry of their own: two apps in one process do not mix. All of them are in memory
// already: reading them costs the database nothing, however long the queue is and however often they are read.

import { Counter, Gauge, Registry } from "prom-client";
import { type EngineCounters, oldestDueAgeMs } from "../callbacks/counters.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";
import type { InboundKind } from "../store/tables/inbound.ts";

export interface Metrics {
	/** Outcome words and fault codes: a closed set, so that the series stay few. */
	countInbound(kind: InboundKind, outcome: string): void;
	answer(): Promise<Response>;
}

export interface MetricsDeps {
	clock: Pick<Clock, "nowMs">;
	/** Null in a process that has no callback engine. */
	engineCounters: (() => EngineCounters) | null;
}

export function createMetrics({ clock, engineCounters }: MetricsDeps): Metrics {
	const registry = new Registry();
	const inbound = new Counter({
		name: "ringback_inbound_calls_total",
		help: "Calls of the signed API and the pixel, by outcome word or fault code",
		labelNames: ["kind", "outcome"],
		registers: [registry],
	});
	addProcessGauge(registry);
	if (engineCounters !== null) {
		addQueueGauges(registry, engineCounters, clock);
		addEngineMetrics(registry, engineCounters);
	}
	return {
		countInbound: (kind, outcome) => inbound.inc({ kind, outcome }),
		async answer() {
			return new Response(await registry.metrics(), {
				headers: { "content-type": registry.contentType, "cache-control": "no-store" },
			});
		},
	};
}

function addQueueGauges(registry: Registry, read: () => EngineCounters, clock: Pick<Clock, "nowMs">): void {
	const registers = [registry];
	new Gauge({
		name: "ringback_oldest_due_age_seconds",
		help: "How long the longest-waiting due delivery has been due when the engine last looked (every 5 s); 0 when none is; counts on while it cannot look",
		registers,
		collect() {
			const { backlog } = read();
			this.set(backlog === null ? Number.NaN : oldestDueAgeMs(backlog, clock.nowMs()) / SECOND_MS);
		},
	});
	new Gauge({
		name: "ringback_programmes_due",
		help: "Programmes with at least one delivery that was due and not under way when the engine last looked",
		registers,
		collect() {
			this.set(read().backlog?.programmesDue ?? Number.NaN);
		},
	});
}

function addProcessGauge(registry: Registry): void {
	new Gauge({
		name: "process_resident_memory_bytes",
		help: "Resident memory size in bytes",
		registers: [registry],
		collect() {
			this.set(process.memoryUsage.rss());
		},
	});
}

/** The engine counts for itself; its numbers are copied at each scrape. */
function addEngineMetrics(registry: Registry, read: () => EngineCounters): void {
	const registers = [registry];
	new Counter({
		name: "ringback_attempts_total",
		help: "Stored attempts by verdict",
		labelNames: ["verdict"],
		registers,
		collect() {
			this.reset();
			for (const [verdict, count] of read().attemptsByVerdict) this.inc({ verdict }, count);
		},
	});
	new Counter({
		name: "ringback_deliveries_finished_total",
		help: "Deliveries that came to a final state",
		labelNames: ["state"],
		registers,
		collect() {
			const { finished, cancelled } = read();
			this.reset();
			for (const [state, count] of Object.entries({ ...finished, cancelled })) this.inc({ state }, count);
		},
	});
	new Counter({
		name: "ringback_late_results_total",
		help: "Results that came after their claim had lapsed",
		registers,
		collect() {
			this.reset();
			this.inc(read().lateResults);
		},
	});
	new Gauge({
		name: "ringback_in_flight",
		help: "Requests to shops under way now",
		registers,
		collect() {
			this.set(read().inFlight);
		},
	});
	new Gauge({
		name: "ringback_held",
		help: "Deliveries claimed by this process: waiting to be sent or under way",
		registers,
		collect() {
			this.set(read().held);
		},
	});
}
