// What the engine has done since it started, for the metrics page.

import type { Verdict } from "../domain/verdict.ts";
import type { Settlement } from "../store/queue.ts";

export interface EngineCounters {
	attemptsByVerdict: Map<Verdict, number>;
	finished: { delivered: number; failed: number };
	cancelled: number;
	/** Results that came after their claim had lapsed: somebody else has sent it again. */
	lateResults: number;
	inFlight: number;
	held: number;
	/** What the last look at the queue found; null before the first. */
	backlog: Backlog | null;
}

/** The queue as the engine last read it, so that health and metrics need no query of their own. */
export interface Backlog {
	readAtMs: number;
	/** Programmes with at least one delivery that is due and not under way. */
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
		inFlight: 0,
		held: 0,
		backlog: null,
	};
}

export function countStored(
	counters: EngineCounters,
	settlements: readonly Settlement[],
	settled: ReadonlySet<Settlement>,
): void {
	for (const settlement of settlements) {
		if (!settled.has(settlement)) {
			counters.lateResults++;
			continue;
		}
		if (settlement.kind === "cancelled") counters.cancelled++;
		if (settlement.kind === "finished") counters.finished[settlement.state]++;
		if (settlement.kind === "finished" || settlement.kind === "retry") {
			const { verdict } = settlement;
			counters.attemptsByVerdict.set(verdict, (counters.attemptsByVerdict.get(verdict) ?? 0) + 1);
		}
	}
}

export function findBacklog(agenda: readonly { dueAtMs: number }[], nowMs: number): Backlog {
	let programmesDue = 0;
	let oldestDueAtMs: number | null = null;
	for (const { dueAtMs } of agenda) {
		if (dueAtMs > nowMs) continue;
		programmesDue++;
		if (oldestDueAtMs === null || dueAtMs < oldestDueAtMs) oldestDueAtMs = dueAtMs;
	}
	return { readAtMs: nowMs, programmesDue, oldestDueAtMs };
}

/**
 * How long the longest-waiting delivery has been due, at the time of the look. When the engine cannot look any more,
 * the time counts on from there: one alert then covers a queue that is too slow and one that nobody works on.
 */
export function oldestDueAgeMs({ readAtMs, oldestDueAtMs }: Backlog, nowMs: number): number {
	const asOfMs = nowMs - readAtMs <= BACKLOG_KEEPS_MS ? readAtMs : nowMs;
	return asOfMs - (oldestDueAtMs ?? readAtMs);
}
