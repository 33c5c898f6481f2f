// Signing scheme of contract section 5. It is used in both directions: for our callbacks to the shop, and for the
// shop's requests to us.

import { createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from "node:crypto";

/** Maximum distance of a timestamp from the present, in either direction (contract section 8). */
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

/** Signing secret as a key object. If the object is logged, the log does not contain the secret. */
export type SigningKey = KeyObject;

export function signingKey(secret: string | Uint8Array): SigningKey {
	return typeof secret === "string" ? createSecretKey(secret, "utf8") : createSecretKey(secret);
}

export function sign(key: SigningKey, canonical: string): string {
	return createHmac("sha256", key).update(canonical).digest("hex");
}

/**
 * Compares a signature in constant time. Upper-case hex is accepted, as contract section 4.3 rule 2 allows.
 */
export function signatureMatches(key: SigningKey, canonical: string, signature: string): boolean {
	if (!/^[0-9a-fA-F]{64}$/.test(signature)) return false;
	const expected = Buffer.from(sign(key, canonical), "hex");
	return timingSafeEqual(expected, Buffer.from(signature, "hex"));
}

export type TimestampVerdict = "fresh" | "malformed" | "stale";

export function judgeTimestamp(timestamp: string, nowMs: number): TimestampVerdict {
	// Fifteen digits are enough for any clock, and a JavaScript number holds them exactly.
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

/** Returns the names of the four headers. For the brand `Acme` the first one is X-Acme-Event. */
export function headerNames(brand: string): HeaderNames {
	return {
		event: `X-${brand}-Event`,
		timestamp: `X-${brand}-Timestamp`,
		nonce: `X-${brand}-Nonce`,
		signature: `X-${brand}-Signature`,
	};
}

/**
 * User-Agent header of callbacks, whatever the brand. The trailing /1 is the only version marker (contract section
 * 9).
 */
export const USER_AGENT = "service-postback/1";

export interface WireNames {
	brand: string;
	headers: HeaderNames;
}

export function wireNames(brand: string): WireNames {
	return { brand, headers: headerNames(brand) };
}
