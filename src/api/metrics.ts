// Numbers for Prometheus, in a registry of their own: two apps in one process do not mix.

import { Counter, Gauge, Registry } from "prom-client";
import type { EngineCounters } from "../callbacks/counters.ts";
import type { InboundKind } from "../store/tables/inbound.ts";
import type { AppDeps } from "./deps.ts";

export interface Metrics {
	/** Outcome words and fault codes: a closed set, so that the series stay few. */
	countInbound(kind: InboundKind, outcome: string): void;
	answer(): Promise<Response>;
}

const SECOND_MS = 1_000;

export function createMetrics(deps: Pick<AppDeps, "store" | "clock" | "log" | "engineCounters">): Metrics {
	const registry = new Registry();
	const registers = [registry];
	const inbound = new Counter({
		name: "ringback_inbound_calls_total",
		help: "Calls of the signed API and the pixel, by outcome word or fault code",
		labelNames: ["kind", "outcome"],
		registers,
	});
	const agenda = addAgendaGauges(registry);
	addProcessGauge(registry);
	if (deps.engineCounters !== null) addEngineMetrics(registry, deps.engineCounters);
	return {
		countInbound: (kind, outcome) => inbound.inc({ kind, outcome }),
		async answer() {
			await readAgenda(deps, agenda);
			return new Response(await registry.metrics(), {
				headers: { "content-type": registry.contentType, "cache-control": "no-store" },
			});
		},
	};
}

interface AgendaGauges {
	oldestDueAge: Gauge;
	programmesDue: Gauge;
}

function addAgendaGauges(registry: Registry): AgendaGauges {
	const registers = [registry];
	return {
		oldestDueAge: new Gauge({
			name: "ringback_oldest_due_age_seconds",
			help: "How long the longest-waiting due delivery has been due; 0 when none is",
			registers,
		}),
		programmesDue: new Gauge({
			name: "ringback_programmes_due",
			help: "Programmes with at least one delivery that is due and not under way",
			registers,
		}),
	};
}

/** One walk along an index, however long the queue is. Without the database the other numbers still count. */
async function readAgenda(
	{ store, clock, log }: Pick<AppDeps, "store" | "clock" | "log">,
	{ oldestDueAge, programmesDue }: AgendaGauges,
): Promise<void> {
	try {
		const nowMs = clock.nowMs();
		const due = (await store.queue.agenda(store.db)).filter(({ dueAtMs }) => dueAtMs <= nowMs);
		const oldestDueAtMs = due.reduce((oldest, { dueAtMs }) => Math.min(oldest, dueAtMs), nowMs);
		oldestDueAge.set((nowMs - oldestDueAtMs) / SECOND_MS);
		programmesDue.set(due.length);
	} catch (error) {
		log.warn({ err: error }, "the queue's agenda could not be read for the metrics");
		oldestDueAge.set(Number.NaN);
		programmesDue.set(Number.NaN);
	}
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
