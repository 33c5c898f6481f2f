// The request of an attempt, byte for byte as it was sent, put together again from what is kept of it: the
// event's body, the moment, the nonce and the signature. The secret is not needed, and not shown.

import { bodySentAt } from "../../domain/event.ts";
import { headerNames, userAgent } from "../../domain/signature.ts";
import type { ListedAttempt } from "../../store/attempt-list.ts";

export interface SentRequest {
	url: string;
	headers: readonly (readonly [name: string, value: string])[];
	body: string;
}

/** Null for an attempt whose process died: nobody knows what it had sent. */
export function rebuildRequest(
	attempt: Pick<ListedAttempt, "url" | "nonce" | "signature" | "started_at_ms">,
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

/** As HTTP writes it, to be read and to be pasted into “Check a signature”. */
export function requestText({ url, headers, body }: SentRequest): string {
	const { pathname, search, host } = new URL(url);
	const lines = headers.map(([name, value]) => `${name}: ${value}`);
	return [`POST ${pathname}${search} HTTP/1.1`, `Host: ${host}`, ...lines, "", body].join("\n");
}

export function curlCommand({ url, headers, body }: SentRequest): string {
	const lines = headers.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
	return [`curl -i -X POST ${quote(url)}`, ...lines, `--data-binary ${quote(body)}`].join(" \\\n  ");
}

/** For a POSIX shell: nothing within single quotes means anything, but for the quote itself. */
function quote(text: string): string {
	return `'${text.replaceAll("'", "'\\''")}'`;
}
