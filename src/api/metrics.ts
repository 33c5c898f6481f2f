// Numbers for Prometheus. All of them are in memory already: reading them costs the database nothing, however long the
// queue is and however often they are read. The table in docs/operations/watching.md lists every one.

import type { EngineCounters } from "../callbacks/counters.ts";
import type { ChoreReport } from "../domain/chore.ts";
import type { DeliveryPause } from "../domain/delivery-pause.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Clock, ProcessFigures } from "../ports.ts";
import type { Connections } from "../store/store.ts";
import type { InboundKind } from "../store/tables/inbound.ts";
import { choreFamilies } from "./chore-metrics.ts";
import { engineFamilies } from "./engine-metrics.ts";
import { CONTENT_TYPE, type Family, gauge, writeFamilies } from "./exposition.ts";
import { type InstallationFigures, installationFamilies } from "./installation-metrics.ts";
import { connectionFamilies, type ProcessIdentity, processFamilies } from "./process-metrics.ts";
import type { RequestCounts } from "./request-metrics.ts";

export interface Metrics {
	/** Outcome words and fault codes: a closed set, so that the series stay few. */
	countInbound(kind: InboundKind, outcome: string): void;
	answer(): Response;
}

export interface MetricsDeps {
	clock: Pick<Clock, "nowMs">;
	identity: ProcessIdentity;
	process: ProcessFigures;
	connections: () => Connections;
	requests: RequestCounts;
	/** Null in a process that has no callback engine. */
	engineCounters: (() => EngineCounters) | null;
	/** As last read, and null before; null in a process of role web. */
	figures: (() => InstallationFigures | null) | null;
	/** Of the chores that this process runs. */
	choreReports: () => readonly ChoreReport[];
	/** Of this process against the database server; null where there is only one clock. */
	clockOffsetMs: () => number | null;
	/** Null while callbacks go out. */
	deliveryPause: () => DeliveryPause | null;
	/** Log lines that nobody took in time. */
	droppedLogLines: () => number;
}

export function createMetrics(deps: MetricsDeps): Metrics {
	const { clock, engineCounters, choreReports, clockOffsetMs } = deps;
	const inbound = createInboundCounts();
	const families: readonly Family[] = [
		...(engineCounters === null ? [] : engineFamilies(engineCounters, clock)),
		...(deps.figures === null ? [] : installationFamilies(deps.figures)),
		...pauseFamilies(deps.deliveryPause),
		inbound.family,
		...deps.requests.families,
		...choreFamilies(choreReports, clock),
		...connectionFamilies(deps.connections),
		gauge(
			"ringback_clock_offset_seconds",
			"How far this machine's clock is ahead of the database server's; below 0 when behind",
			() => (clockOffsetMs() ?? 0) / SECOND_MS,
		),
		...processFamilies(deps.process, deps.identity, deps.droppedLogLines),
	];
	return {
		countInbound: inbound.count,
		answer: () =>
			new Response(writeFamilies(families), {
				headers: { "content-type": CONTENT_TYPE, "cache-control": "no-store" },
			}),
	};
}

function pauseFamilies(read: () => DeliveryPause | null): readonly Family[] {
	return [
		gauge(
			"ringback_delivery_paused",
			"1 while callbacks are held on purpose (RINGBACK_DELIVERY=paused) and no process sends them; read every 15 s",
			() => (read()?.isSentElsewhere === false ? 1 : 0),
		),
		gauge(
			"ringback_delivery_paused_timestamp_seconds",
			"Since when callbacks have been held on purpose in at least one process; 0 while they are not",
			() => (read()?.sinceMs ?? 0) / SECOND_MS,
		),
		gauge(
			"ringback_delivery_paused_waiting",
			"Callbacks that wait while they are held on purpose; 0 while they are not",
			() => read()?.waiting ?? 0,
		),
	];
}

function createInboundCounts(): { count: Metrics["countInbound"]; family: Family } {
	const counts = new Map<InboundKind, Map<string, number>>();
	return {
		count(kind, outcome) {
			const ofKind = counts.getOrInsertComputed(kind, () => new Map<string, number>());
			ofKind.set(outcome, (ofKind.get(outcome) ?? 0) + 1);
		},
		family: {
			name: "ringback_inbound_calls_total",
			help: "Calls of the signed API and the pixel, by outcome word or fault code",
			type: "counter",
			*read() {
				for (const [kind, ofKind] of counts) {
					for (const [outcome, count] of ofKind) yield [{ kind, outcome }, count];
				}
			},
		},
	};
}
