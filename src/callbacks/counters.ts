// What the engine has done since it started, for the metrics page.

import { Histogram } from "../domain/histogram.ts";
import type { ProcessEngine } from "../domain/process.ts";
import type { Verdict } from "../domain/verdict.ts";
import type { Settlement } from "../store/queue.ts";

export interface EngineCounters {
	attemptsByVerdict: Map<Verdict, number>;
	finished: { delivered: number; failed: number };
	cancelled: number;
	/** Results that came after another engine had taken over: somebody else has sent it again. */
	lateResults: number;
	/** Engines that were taken over: processes that died, stalled or lost the database. */
	takenOver: number;
	/** Lanes with something due that nobody would have looked at: there must be none. */
	missedLanes: number;
	/** Attempts that ran out of time because this process was too late to make use of it. */
	lostToLateness: number;
	/** Seconds from a status change to the shop's answer to its first attempt; of those that were answered. */
	firstAnswers: Histogram;
	/** Seconds from an attempt's due time to its request. */
	sendDelays: Histogram;
	/** Seconds from an attempt's request to its end, however it ended. */
	attemptTimes: Histogram;
	/** Seconds that passes took, failed ones included. */
	passTimes: Histogram;
	inFlight: number;
	/** Deliveries handed out to this engine: waiting or in flight. */
	inHand: number;
	/** Lanes leased to this engine. */
	lanes: number;
	/** What the last look found; null before the first. */
	backlog: Backlog | null;
}

/** What waits, as the engine last saw it, so that health and metrics need no query of their own. */
export interface Backlog {
	readAtMs: number;
	/** Receivers with at least one delivery that is due and not under way. */
	programmesDue: number;
	/** Null when nothing is due. */
	oldestDueAtMs: number | null;
}

/** Seconds: from what nobody notices to what somebody must be woken for. */
const LATENCY_BOUNDS: readonly number[] = [
	0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800,
];
/** An attempt has five seconds, and ends a little later where we are late ourselves. */
const ATTEMPT_BOUNDS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 6];
/** A database that does not answer fails a statement after 15 seconds. */
const PASS_BOUNDS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15];

/** The engine looks every five seconds; after so long without, it cannot. */
const BACKLOG_KEEPS_MS = 15_000;

export function newCounters(): EngineCounters {
	return {
		attemptsByVerdict: new Map(),
		finished: { delivered: 0, failed: 0 },
		cancelled: 0,
		lateResults: 0,
		takenOver: 0,
		missedLanes: 0,
		lostToLateness: 0,
		firstAnswers: new Histogram(LATENCY_BOUNDS),
		sendDelays: new Histogram(LATENCY_BOUNDS),
		attemptTimes: new Histogram(ATTEMPT_BOUNDS),
		passTimes: new Histogram(PASS_BOUNDS),
		inFlight: 0,
		inHand: 0,
		lanes: 0,
		backlog: null,
	};
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

/** `held` is since when each lane of this engine has something that waits; the others are nobody's. */
export function sumBacklog(
	held: ReadonlyMap<number, number>,
	others: { waiting: number; waitingSinceMs: number | null },
	nowMs: number,
): Backlog {
	const since =
		others.waitingSinceMs === null ? [...held.values()] : [...held.values(), others.waitingSinceMs];
	let oldestDueAtMs: number | null = null;
	for (const sinceMs of since) {
		if (oldestDueAtMs === null || sinceMs < oldestDueAtMs) oldestDueAtMs = sinceMs;
	}
	return { readAtMs: nowMs, programmesDue: held.size + others.waiting, oldestDueAtMs };
}

/** What a process tells the others of its engine. */
export function describeEngine({ inHand, backlog }: EngineCounters): ProcessEngine {
	return {
		inHand,
		programmesDue: backlog?.programmesDue ?? 0,
		oldestDueAtMs: backlog?.oldestDueAtMs ?? null,
	};
}

/**
 * How long the longest-waiting delivery has been due, at the time of the look. When the engine cannot look any more,
 * the time counts on from there: one alert then covers a queue that is too slow and one that nobody works on.
 */
export function oldestDueAgeMs({ readAtMs, oldestDueAtMs }: Backlog, nowMs: number): number {
	const asOfMs = nowMs - readAtMs <= BACKLOG_KEEPS_MS ? readAtMs : nowMs;
	return asOfMs - (oldestDueAtMs ?? readAtMs);
}
