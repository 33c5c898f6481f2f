// Rebuilds the request of a past attempt, byte for byte as it was sent. The stored event, start time, nonce
// and signature are enough. The signing secret is neither needed nor shown.

import { bodySentAt } from "./event.ts";
import type { EventName } from "./event-name.ts";
import { headerNames, userAgent } from "./signature.ts";

export interface SentRequest {
	url: string;
	headers: readonly (readonly [name: string, value: string])[];
	body: string;
}

/**
 * Rebuilds the request of an attempt. Returns null if the sending process died, because nobody knows how much
 * it had sent.
 */
export function rebuildRequest(
	attempt: { url: string | null; nonce: string | null; signature: string | null; started_at_ms: number },
	event: { event: EventName; eventBody: string },
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
		body: bodySentAt(event.event, event.eventBody, startedAtMs),
	};
}
