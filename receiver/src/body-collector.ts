// Keeps the raw bytes of a body, and never more of them than allowed.

import type { ReadBody } from "./reception.ts";

export type BodyCollector = {
	/** False: enough has been seen, read no further. */
	add(chunk: Uint8Array | string): boolean;
	result(): ReadBody;
};

// A sender that is still writing would see its connection cut instead of the 413, so a little more is read and
// thrown away first.
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

/** For a body that something else has read: it is in memory already, but no larger one is taken for it. */
export function boundBody(body: Uint8Array | string, maxBytes: number): ReadBody {
	const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
	return bytes.length > maxBytes ? { ok: false, problem: "too_large" } : { ok: true, bytes };
}

/** Whether the sender announces so much that reading it to the end is out of the question. */
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
