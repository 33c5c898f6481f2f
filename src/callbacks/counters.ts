// What the engine has done since it started, for the metrics page.

import { Histogram } from "prom-client";
import type { Verdict } from "../domain/verdict.ts";
import type { Settlement } from "../store/queries/queue.ts";

export type EngineCounters = ReturnType<typeof newCounters>;

/** What waits for this engine, as far as it knows. */
export interface Backlog {
	/** Programmes of its slots with something due that is not in flight. */
	programmesDue: number;
	/** Since when the longest of them waits; null when nothing is due. */
	oldestDueAtMs: number | null;
}

const NO_BACKLOG: Backlog = { programmesDue: 0, oldestDueAtMs: null };

/** Seconds: from what nobody notices to what somebody must be woken for. */
const LATENCY_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];
/** An attempt has five seconds, and ends a little later where we are late ourselves. */
const ATTEMPT_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 6];
/** A database that does not answer fails a statement after 15 seconds. */
const PASS_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15];

export function newCounters() {
	return {
		attemptsByVerdict: new Map<Verdict, number>(),
		finished: { delivered: 0, failed: 0 },
		cancelled: 0,
		/** Results that came after the engine had lost its row: another engine sends it again. */
		lateResults: 0,
		/** Silent engines that this one ended: processes that died, stalled or lost the database. */
		endedEngines: 0,
		/** Programmes with something due that this engine had not heard of: there must be none. */
		missed: 0,
		firstAnswers: histogram(
			"ringback_delivery_first_answer_seconds",
			"Time from a status change to the shop's answer to its first attempt; of attempts that were answered",
			LATENCY_BOUNDS,
		),
		sendDelays: histogram(
			"ringback_attempt_send_delay_seconds",
			"Time from an attempt's due time to its request",
			LATENCY_BOUNDS,
		),
		attemptTimes: histogram(
			"ringback_attempt_duration_seconds",
			"Time from an attempt's request to its end, however it ended; the shop has five seconds",
			ATTEMPT_BOUNDS,
		),
		passTimes: histogram(
			"ringback_pass_duration_seconds",
			"Time that a pass of the engine took, which is one transaction, failed ones included",
			PASS_BOUNDS,
		),
		inFlight: 0,
		waitingOrInFlight: 0,
		/** Slots that this engine owns. */
		slots: 0,
		backlog: NO_BACKLOG,
	};
}

/** Registered where the metrics are put together: see watch/metrics. */
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
