// Rebuilds the request of an attempt, byte for byte as it was sent, from what is stored: the event's body, the start of the
// attempt, the nonce and the signature. The secret is not needed, and not shown.

import { bodySentAt } from "./event.ts";
import { headerNames, userAgent } from "./signature.ts";

export interface SentRequest {
	url: string;
	headers: readonly (readonly [name: string, value: string])[];
	body: string;
}

/** Returns null for an attempt whose process died, because nobody knows what it had sent. */
export function rebuildRequest(
	attempt: { url: string | null; nonce: string | null; signature: string | null; started_at_ms: number },
	event: { event: string; eventBody: string },
	brand: string,
): SentRequest | null {
	const { url, nonce, signature, started_at_ms: startedAtMs } = attempt;
	if (url === null || nonce === null || signature === null) return null;
	const names = headerNames(brand);
	return {
		url,
		headers: [
			["Content-Type", "application/json"],
			["User-Agent", userAgent(brand)],
			[names.event, event.event],
			[names.timestamp, String(Math.floor(startedAtMs / 1000))],
			[names.nonce, nonce],
			[names.signature, signature],
		],
		body: bodySentAt(event.eventBody, startedAtMs),
	};
}
