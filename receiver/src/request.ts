// Reads the caller's input into plain values once, so that no other code has to check types.

import { type PostbackHeaders, readHeader } from "./headers.ts";
import { isDate } from "./is-date.ts";
import type { NonceMemory } from "./nonce-memory.ts";
import { type Refusal, refuse } from "./refusal.ts";
import { type Secrets, splitSecrets } from "./secrets.ts";

export type PostbackRequest = {
	/** Path and query string as received (`req.url`, in Express `req.originalUrl`). */
	readonly path: string;
	readonly headers: PostbackHeaders;
	/**
	 * The body as received. A string is encoded as UTF-8. A body that was parsed and serialized again cannot be
	 * verified.
	 */
	readonly rawBody: Uint8Array | string;
	/**
	 * Signing secret of the programme, or both secrets while one is being replaced, as a list or as `NEW,OLD`.
	 * Without a secret, every request is refused.
	 */
	readonly secret: Secrets;
	/** The receiver's clock as a Date or milliseconds. Default: now. */
	readonly now?: Date | number | undefined;
	/** Brand in the header names, `X-<Brand>-Signature`. Default: `Service`. */
	readonly brand?: string | undefined;
	/** Memory of nonces, which refuses repeated requests. Default: none. */
	readonly nonces?: NonceMemory | undefined;
};

export type ReadRequest = {
	readonly ok: true;
	readonly target: string;
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
		// Reading the input can throw only because of the caller's own object, for example because it is missing,
		// has a getter that throws, or has a name that Headers refuses. The sender is not at fault, and
		// verification never throws on bad input.
		return refuse("missing_header", "The request could not be read: pass its path, headers and rawBody.");
	}
}

function readValues(request: PostbackRequest): ReadRequest | Refusal {
	const { path, headers, rawBody, secret, now = Date.now(), brand = "Service", nonces } = request;

	// The event header is not read, because it is not signed. The name of the event is in the body.
	const missing: string[] = [];
	const header = (word: string): string => {
		const name = `X-${brand}-${word}`;
		const value = readHeader(headers, name);
		if (value === undefined) missing.push(name);
		return value ?? "";
	};
	const timestamp = header("Timestamp");
	const nonce = header("Nonce");
	const signature = header("Signature");
	if (missing.length > 0) {
		const hint = missing.length === 3 ? ` Check that "${brand}" is the network's brand.` : "";
		return refuse("missing_header", `Missing or empty: ${missing.join(", ")}.${hint}`);
	}

	const body = copyBytes(rawBody);
	if (body === undefined) {
		return refuse("malformed_body", "rawBody must be the body as received: a Uint8Array or a string.");
	}
	if (typeof path !== "string") {
		return refuse("bad_signature", "path must be the path and query string as received: they are signed.");
	}
	const signed = { target: path, timestamp, nonce, signature, body };
	return { ok: true, ...signed, secrets: splitSecrets(secret), nowMs: readClock(now), nonces };
}

// With an invalid clock every request is refused as stale, because a comparison with NaN is always false.
function readClock(now: Date | number): number {
	if (typeof now === "number") return now;
	return isDate(now) ? now.getTime() : Number.NaN;
}

// The bytes are copied, so that the verified bytes are also the parsed ones, even if the caller changes its
// buffer. `isView` is used, because `instanceof` fails in test runners that give each file its own globals.
function copyBytes(rawBody: Uint8Array | string): Uint8Array<ArrayBuffer> | undefined {
	if (typeof rawBody === "string") return new TextEncoder().encode(rawBody);
	if (!ArrayBuffer.isView(rawBody)) return undefined;
	return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength).slice();
}
