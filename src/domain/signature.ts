// The signing scheme of contract section 5, used in both directions: our callbacks to the shop and the
// shop's requests to us. Pure computation over strings and bytes; keys and clocks arrive as arguments.

import { createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from "node:crypto";

/** Contract section 8: timestamps may be this far away, either way. */
export const TIMESTAMP_TOLERANCE_SECONDS = 300;

export function canonicalString(
	method: string,
	target: string,
	timestamp: string,
	nonce: string,
	bodySha256: string,
): string {
	return `${method}\n${target}\n${timestamp}\n${nonce}\n${bodySha256}`;
}

export function sha256Hex(bytes: string | Uint8Array): string {
	return hash("sha256", bytes, "hex");
}

/** Kept per secret: building it anew for each request would cost as much as the signature itself. */
export function signingKey(secret: string): KeyObject {
	return createSecretKey(Buffer.from(secret, "utf8"));
}

export function sign(key: KeyObject, canonical: string): string {
	return createHmac("sha256", key).update(canonical).digest("hex");
}

/** Timing-safe. Upper-case hex is accepted: contract section 4.3 rule 2 lets the value be compared in lower case. */
export function signatureMatches(key: KeyObject, canonical: string, signature: string): boolean {
	if (!/^[0-9a-fA-F]{64}$/.test(signature)) return false;
	const expected = createHmac("sha256", key).update(canonical).digest();
	return timingSafeEqual(expected, Buffer.from(signature, "hex"));
}

export type TimestampVerdict = "fresh" | "malformed" | "stale";

export function judgeTimestamp(timestamp: string, nowMs: number): TimestampVerdict {
	// Fifteen digits outlast any clock and stay exact as a number.
	if (!/^\d{1,15}$/.test(timestamp)) return "malformed";
	const distanceSeconds = Math.abs(Number(timestamp) - Math.floor(nowMs / 1000));
	return distanceSeconds <= TIMESTAMP_TOLERANCE_SECONDS ? "fresh" : "stale";
}

export interface HeaderNames {
	event: string;
	timestamp: string;
	nonce: string;
	signature: string;
}

/** Brand `Acme` gives X-Acme-Event and its three companions. */
export function headerNames(brand: string): HeaderNames {
	return {
		event: `X-${brand}-Event`,
		timestamp: `X-${brand}-Timestamp`,
		nonce: `X-${brand}-Nonce`,
		signature: `X-${brand}-Signature`,
	};
}

/** Contract section 9: the trailing /1 is the only version marker. */
export function userAgent(brand: string): string {
	return `${brand.toLowerCase()}-postback/1`;
}
