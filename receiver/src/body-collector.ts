// Collects the raw bytes of a body up to a limit.

import type { ReadBody } from "./reception.ts";

export type BodyCollector = {
	/** Adds a chunk. Returns false when the limit is exceeded and the caller should stop reading. */
	add(chunk: Uint8Array | string): boolean;
	result(): ReadBody;
};

// Number of bytes above the limit that are read and discarded. Without this, a sender that is still writing
// would see a broken connection instead of the 413.
const discardedBytesAllowed = 1_048_576;

export function collectBody(maxBytes: number): BodyCollector {
	let chunks: Uint8Array[] = [];
	let byteCount = 0;
	return {
		add(chunk) {
			const bytes = typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk;
			byteCount += bytes.length;
			if (byteCount <= maxBytes) chunks.push(bytes);
			else chunks = [];
			return byteCount <= maxBytes + discardedBytesAllowed;
		},
		result() {
			if (byteCount > maxBytes) return { ok: false, problem: "too_large" };
			return { ok: true, bytes: join(chunks, byteCount) };
		},
	};
}

/** Applies the size limit to a body that other code has already read into memory. */
export function boundBody(body: Uint8Array | string, maxBytes: number): ReadBody {
	const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
	return bytes.length > maxBytes ? { ok: false, problem: "too_large" } : { ok: true, bytes };
}

/** Returns true if the announced length is so large that the body is not read to its end. */
export function announcesTooMuch(contentLength: string | undefined, maxBytes: number): boolean {
	return Number(contentLength ?? 0) > maxBytes + discardedBytesAllowed;
}

function join(chunks: readonly Uint8Array[], byteCount: number): Uint8Array {
	const joined = new Uint8Array(byteCount);
	let at = 0;
	for (const chunk of chunks) {
		joined.set(chunk, at);
		at += chunk.length;
	}
	return joined;
}
