// A budget for what may come often but not without end: so many at once, and so many a second in the long run. A
// bucket holds what is left of the burst and fills up again with time.

import { SECOND_MS } from "./time.ts";

export interface Budget {
	/** As many at once, after a while without any. */
	burst: number;
	perSecond: number;
}

export interface Bucket {
	/** What may still be taken now. */
	left: number;
	atMs: number;
}

export function fullBucket({ burst }: Budget, nowMs: number): Bucket {
	return { left: burst, atMs: nowMs };
}

export interface Take {
	isTaken: boolean;
	/** To be kept either way. */
	bucket: Bucket;
}

/** A clock that went back fills nothing and takes nothing away; it fills on from there. */
export function takeOne(bucket: Bucket, budget: Budget, nowMs: number): Take {
	const passedMs = Math.max(0, nowMs - bucket.atMs);
	const left = Math.min(budget.burst, bucket.left + (passedMs / SECOND_MS) * budget.perSecond);
	const isTaken = left >= 1;
	return { isTaken, bucket: { left: isTaken ? left - 1 : left, atMs: nowMs } };
}
