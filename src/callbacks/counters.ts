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
}

export function newCounters(): EngineCounters {
	return {
		attemptsByVerdict: new Map(),
		finished: { delivered: 0, failed: 0 },
		cancelled: 0,
		lateResults: 0,
		inFlight: 0,
		held: 0,
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
