// Budgets for what may come often but not without end: so many at once, and so many a second in the long run. By name, in
// the memory of this process: a bucket for everybody who called lately, and never more of them than there is room for.

import { SECOND_MS } from "../domain/time.ts";

export interface Budget {
	/** As many at once, after a while without any. */
	burst: number;
	perSecond: number;
}

/** About 200 bytes each. */
const MAX_KEPT = 10_000;

/**
 * When full, the one silent longest is dropped and starts again with a full burst; the next, wider budget limits a
 * caller with that many names.
 */
export function createKeptBudgets({ burst, perSecond }: Budget, maxKept = MAX_KEPT) {
	/** What may still be taken. The one that called last stands at the end. */
	const buckets = new Map<string | number, { left: number; atMs: number }>();
	return {
		/** Whether this one may still; counts it if so. A clock that went back fills nothing and takes nothing away. */
		take(name: string | number, nowMs: number): boolean {
			const before = buckets.get(name) ?? { left: burst, atMs: nowMs };
			const passedMs = Math.max(0, nowMs - before.atMs);
			const left = Math.min(burst, before.left + (passedMs / SECOND_MS) * perSecond);
			const isTaken = left >= 1;
			buckets.delete(name);
			buckets.set(name, { left: isTaken ? left - 1 : left, atMs: nowMs });
			const [silent] = buckets.size > maxKept ? buckets.keys() : [];
			if (silent !== undefined) buckets.delete(silent);
			return isTaken;
		},
	};
}
