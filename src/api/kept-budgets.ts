// Budgets by name, in the memory of this process: a bucket for everybody who called lately, and never more of them
// than there is room for.

import { type Bucket, type Budget, fullBucket, takeOne } from "../domain/token-bucket.ts";

/**
 * When full, the one silent longest is dropped and starts again with a full burst; the next, wider budget limits a
 * caller with that many names.
 */
export function createKeptBudgets(budget: Budget, maxKept: number) {
	/** The one that called last stands at the end. */
	const buckets = new Map<string | number, Bucket>();
	return {
		/** Whether this one may still; counts it if so. */
		take(name: string | number, nowMs: number): boolean {
			const { isTaken, bucket } = takeOne(buckets.get(name) ?? fullBucket(budget, nowMs), budget, nowMs);
			buckets.delete(name);
			buckets.set(name, bucket);
			const [silent] = buckets.size > maxKept ? buckets.keys() : [];
			if (silent !== undefined) buckets.delete(silent);
			return isTaken;
		},
	};
}
