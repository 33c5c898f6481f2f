// Rate limits in the memory of this process. Each limit is a token bucket, which allows a burst at once and a
// steady rate in the long run. Each client that called recently has its own bucket.

import { SECOND_MS } from "#core/domain/time.ts";

export interface Rate {
	/** Number of requests that may arrive at once after a pause. */
	burst: number;
	/** Number of requests per second that are allowed in the long run. The burst refills at the same rate. */
	perSecond: number;
}

export interface RateRule extends Rate {
	/**
	 * The requests that share one bucket. "privateAddresses" is one bucket for all clients with a private
	 * address, which does not identify them. "unknownProgramme" is one bucket for all requests that name no
	 * programme, and "process" is one for all requests.
	 */
	per: "addressBlock" | "privateAddresses" | "programme" | "unknownProgramme" | "process";
}

export interface RequestOrigin {
	/** Group of neighbouring IP addresses, or null if the client has a private address. */
	addressBlock: string | null;
	programme: string | number | null;
}

export interface RateLimiter {
	/** Returns whether all rules allow the request, and counts it if they do. */
	take(origin: RequestOrigin, nowMs: number): boolean;
	/** Returns whether all rules would allow the request, without counting it. */
	allows(origin: RequestOrigin, nowMs: number): boolean;
}

/**
 * Creates a limiter that checks rules in their order. If one rule refuses a request, the request does not
 * count for the rules after it. Narrow rules come first, so that a client that floods reaches its own limit
 * before that of its programme.
 */
export function createRateLimiter(rules: readonly RateRule[]): RateLimiter {
	const limits = rules.map(({ per, ...rate }) => ({ per, buckets: createTokenBuckets(rate) }));
	const askAll = (what: "take" | "has", origin: RequestOrigin, nowMs: number): boolean =>
		limits.every(({ per, buckets }) => {
			const key = bucketKey(per, origin);
			return key === null || buckets[what](key, nowMs);
		});
	return {
		take: (origin, nowMs) => askAll("take", origin, nowMs),
		allows: (origin, nowMs) => askAll("has", origin, nowMs),
	};
}

/** Returns the key of the bucket for this request, or null if the rule does not apply to it. */
function bucketKey(per: RateRule["per"], { addressBlock, programme }: RequestOrigin): string | number | null {
	switch (per) {
		case "addressBlock":
			return addressBlock;
		case "privateAddresses":
			return addressBlock === null ? per : null;
		case "programme":
			return programme;
		case "unknownProgramme":
			return programme === null ? per : null;
		case "process":
			return per;
	}
}

/** Maximum number of buckets of one rule. A bucket takes about 200 bytes. */
const MAX_BUCKETS = 10_000;

/**
 * Creates token buckets by key. If there are too many buckets, the bucket that was unused for the longest time is
 * removed, and its client starts again with a full burst. A client that uses very many keys is limited by the next,
 * wider rule.
 */
export function createTokenBuckets({ burst, perSecond }: Rate, maxBuckets = MAX_BUCKETS) {
	/** Buckets in the order of their last use. */
	const buckets = new Map<string | number, { tokens: number; atMs: number }>();
	function tokensAt({ tokens, atMs }: { tokens: number; atMs: number }, nowMs: number): number {
		const passedMs = Math.max(0, nowMs - atMs);
		return Math.min(burst, tokens + (passedMs / SECOND_MS) * perSecond);
	}

	return {
		/** Returns whether the bucket has a token, and leaves the token in the bucket. */
		has(key: string | number, nowMs: number): boolean {
			const bucket = buckets.get(key);
			return bucket === undefined || tokensAt(bucket, nowMs) >= 1;
		},
		/**
		 * Takes a token. Returns false if the bucket has none. If the clock is set back, no tokens are added or removed.
		 */
		take(key: string | number, nowMs: number): boolean {
			const before = buckets.get(key) ?? { tokens: burst, atMs: nowMs };
			const tokens = tokensAt(before, nowMs);
			const isAllowed = tokens >= 1;
			buckets.delete(key);
			buckets.set(key, { tokens: isAllowed ? tokens - 1 : tokens, atMs: nowMs });
			const [leastRecent] = buckets.size > maxBuckets ? buckets.keys() : [];
			if (leastRecent !== undefined) buckets.delete(leastRecent);
			return isAllowed;
		},
	};
}
