// Reads the caller's input into plain values once, so that no later code meets a wrong type.

import { type PostbackHeaders, readHeader } from "./headers.ts";
import type { NonceMemory } from "./nonce-memory.ts";
import { type Refusal, refuse } from "./refusal.ts";

export type PostbackRequest = {
	/** Path plus query string as received (`req.url`; in Express `req.originalUrl`). */
	readonly path: string;
	readonly headers: PostbackHeaders;
	/**
	 * The body as received. A string is encoded as UTF-8. JSON that was parsed and written again does not
	 * verify.
	 */
	readonly rawBody: Uint8Array | string;
	/**
	 * The programme's signing secret, or both while one is being replaced. Without any, no request is genuine.
	 */
	readonly secret: string | readonly string[] | undefined;
	/** The receiver's clock as a Date or milliseconds. Default: now. */
	readonly now?: Date | number | undefined;
	/** The word in the header names, `X-<Brand>-Signature`. Default: `Service`. */
	readonly brand?: string | undefined;
	/** Memory that refuses repeated requests. Default: none. */
	readonly nonces?: NonceMemory | undefined;
};

export type ReadRequest = {
	readonly ok: true;
	readonly target: string;
	readonly eventName: string;
	readonly timestamp: string;
	readonly nonce: string;
	readonly signature: string;
	readonly body: Uint8Array<ArrayBuffer>;
	readonly secrets: readonly string[];
	readonly nowMs: number;
	readonly nonces: NonceMemory | undefined;
};

export function readRequest(request: PostbackRequest): ReadRequest | Refusal {
	try {
		return readValues(request);
	} catch {
		// Only the caller's own object can throw here: a missing object, a getter, a name that Headers refuses.
		// That says nothing about the sender, and verifying never throws on bad input.
		return refuse("missing_header", "The request could not be read: pass its path, headers and rawBody.");
	}
}

function readValues(request: PostbackRequest): ReadRequest | Refusal {
	const { path, headers, rawBody, secret, now = Date.now(), brand = "Service", nonces } = request;

	const missing: string[] = [];
	const header = (word: string): string => {
		const name = `X-${brand}-${word}`;
		const value = readHeader(headers, name);
		if (value === undefined) missing.push(name);
		return value ?? "";
	};
	const eventName = header("Event");
	const timestamp = header("Timestamp");
	const nonce = header("Nonce");
	const signature = header("Signature");
	if (missing.length > 0) {
		const hint = missing.length === 4 ? ` Check that "${brand}" is the network's brand.` : "";
		return refuse("missing_header", `Missing or empty: ${missing.join(", ")}.${hint}`);
	}

	const body = copyBytes(rawBody);
	if (body === undefined) {
		return refuse("malformed_body", "rawBody must be the body as received: a Uint8Array or a string.");
	}
	if (typeof path !== "string") {
		return refuse("bad_signature", "path must be the path and query string as received: they are signed.");
	}
	const secrets = [secret].flat().filter((one) => typeof one === "string");
	const nowMs = readClock(now);
	return { ok: true, target: path, eventName, timestamp, nonce, signature, body, secrets, nowMs, nonces };
}

// Without a valid clock nothing is fresh, because NaN is within 300 seconds of nothing. A Date is recognized
// by its name, as it may come from a test runner's own globals.
function readClock(now: Date | number): number {
	if (typeof now === "number") return now;
	return Object.prototype.toString.call(now) === "[object Date]" ? now.getTime() : Number.NaN;
}

// Copies the bytes, so that the bytes that are verified are those that are parsed, whatever the caller does
// with its buffer. Uses `isView` instead of `instanceof`, which fails in test runners that give each file its
// own globals.
function copyBytes(rawBody: Uint8Array | string): Uint8Array<ArrayBuffer> | undefined {
	if (typeof rawBody === "string") return new TextEncoder().encode(rawBody);
	if (!ArrayBuffer.isView(rawBody)) return undefined;
	return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength).slice();
}
