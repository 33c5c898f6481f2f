// Counts of the engine's work since it started, for the metrics.

import { Histogram } from "prom-client";
import type { Verdict } from "../domain/verdict.ts";
import type { Settlement } from "../store/queries/queue.ts";

export type EngineCounters = ReturnType<typeof newCounters>;

/** Due deliveries that an engine has not sent yet, as far as it knows. */
export interface Backlog {
	/** Number of receivers in the engine's slots that have a due delivery that is not in flight. */
	receiversDue: number;
	/** Due time of the oldest of those deliveries, or null if there is none. */
	oldestDueAtMs: number | null;
}

const NO_BACKLOG: Backlog = { receiversDue: 0, oldestDueAtMs: null };

/** Upper bounds of a histogram in seconds, from a delay that nobody notices to one for which somebody must be woken. */
const LATENCY_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];
/**
 * Upper bounds of a histogram in seconds. An attempt has five seconds, and ends a little later if this process is late.
 */
const ATTEMPT_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 6];
/** Upper bounds of a histogram in seconds. A statement fails after 15 seconds if the database does not answer. */
const PASS_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15];

export function newCounters() {
	return {
		attemptsByVerdict: new Map<Verdict, number>(),
		finished: { delivered: 0, failed: 0 },
		cancelled: 0,
		/** Number of results that came after the engine had lost its row. Another engine sends those deliveries again. */
		lateResults: 0,
		/** Number of silent engines that this one removed, because their processes died, stalled or lost the database. */
		endedEngines: 0,
		/** Number of receivers with a due delivery of which this engine was not notified. It must stay zero. */
		missed: 0,
		firstAnswers: histogram(
			"ringback_delivery_first_answer_seconds",
			"Time from a status change to the shop's answer to its first attempt, if it was answered",
			LATENCY_BOUNDS,
		),
		sendDelays: histogram(
			"ringback_attempt_send_delay_seconds",
			"Time from an attempt's due time to its request",
			LATENCY_BOUNDS,
		),
		attemptTimes: histogram(
			"ringback_attempt_duration_seconds",
			"Time from an attempt's request to its end, whatever its outcome. The shop has five seconds",
			ATTEMPT_BOUNDS,
		),
		passTimes: histogram(
			"ringback_pass_duration_seconds",
			"Duration of a pass of the engine, which is one transaction. Failed passes are included",
			PASS_BOUNDS,
		),
		inFlight: 0,
		waitingOrInFlight: 0,
		slots: 0,
		backlog: NO_BACKLOG,
	};
}

/** Creates a histogram that is not registered. watch/metrics registers it. */
function histogram(name: string, help: string, buckets: number[]): Histogram {
	return new Histogram({ name, help, buckets, registers: [] });
}

export function countStored(counters: EngineCounters, settled: Iterable<Settlement>): void {
	for (const settlement of settled) {
		if (settlement.kind === "cancelled") counters.cancelled++;
		if (settlement.kind === "finished") counters.finished[settlement.state]++;
		if (settlement.kind === "finished" || settlement.kind === "retry") {
			const { verdict } = settlement;
			counters.attemptsByVerdict.set(verdict, (counters.attemptsByVerdict.get(verdict) ?? 0) + 1);
		}
	}
}
