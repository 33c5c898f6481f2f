// Rate limits in the memory of this process. Each limit is a token bucket: a burst at once, and a steady rate in the long
// run. There is a bucket for every client that called lately.

import { SECOND_MS } from "../domain/time.ts";

export interface Rate {
	/** Number of requests that may come at once after a pause. */
	burst: number;
	/** Number of requests that may come in a second in the long run; also the rate at which the burst fills up again. */
	perSecond: number;
}

/** A rate, and whose requests share it. */
export interface RateRule extends Rate {
	/**
	 * "privateAddresses" is one bucket for all clients whose address says nothing about them. "unknownProgramme" is one
	 * for all requests without a programme, and "process" is one for all requests.
	 */
	per: "addressBlock" | "privateAddresses" | "programme" | "unknownProgramme" | "process";
}

/** The properties of a request that the rate limits depend on. */
export interface RequestOrigin {
	/** Group of neighbouring IP addresses, or null if the client has a private address. */
	addressBlock: string | null;
	/** Programme that the request names, or null if it names none. */
	programme: string | number | null;
}

export interface RateLimiter {
	/** Returns whether all rules allow the request, and counts it if they do. */
	take(origin: RequestOrigin, nowMs: number): boolean;
	/** Returns whether all rules would allow the request, without counting it. */
	allows(origin: RequestOrigin, nowMs: number): boolean;
}

/**
 * Checks rules in their order. A request that one of them refuses does not use up the rules after it. Narrow rules come
 * first, so that a client that floods reaches its own limit and not that of its programme.
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

/** Returns null if the rule does not apply to the request. */
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

/** A bucket takes about 200 bytes. */
const MAX_BUCKETS = 10_000;

/**
 * If there are too many buckets, the one that was unused for the longest time is removed and starts again with a full
 * burst. A client with that many names is limited by the next, wider rule.
 */
export function createTokenBuckets({ burst, perSecond }: Rate, maxBuckets = MAX_BUCKETS) {
	/** In the order of their last use. */
	const buckets = new Map<string | number, { tokens: number; atMs: number }>();
	function tokensAt({ tokens, atMs }: { tokens: number; atMs: number }, nowMs: number): number {
		const passedMs = Math.max(0, nowMs - atMs);
		return Math.min(burst, tokens + (passedMs / SECOND_MS) * perSecond);
	}

	return {
		/** Returns whether there is a token. */
		has(key: string | number, nowMs: number): boolean {
			const bucket = buckets.get(key);
			return bucket === undefined || tokensAt(bucket, nowMs) >= 1;
		},
		/** Takes a token, and returns false if there is none. A clock that goes back neither adds nor removes tokens. */
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
