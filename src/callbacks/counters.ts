// What the engine has done since it started, for the metrics page.

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

/**
 * How long the longest-waiting delivery has been due, at the time of the look. When the engine cannot look any more,
 * the time counts on from there: one alert then covers a queue that is too slow and one that nobody works on.
 */
export function oldestDueAgeMs({ readAtMs, oldestDueAtMs }: Backlog, nowMs: number): number {
	const asOfMs = nowMs - readAtMs <= BACKLOG_KEEPS_MS ? readAtMs : nowMs;
	return asOfMs - (oldestDueAtMs ?? readAtMs);
}
