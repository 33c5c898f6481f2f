// Composes the request of a callback, and rebuilds the one of a past attempt, byte for byte as it was sent. For that the
// stored event, start time, nonce and signature are enough. The signing secret is neither needed nor shown.

import { bodySentAt } from "./event.ts";
import type { EventName } from "./event-name.ts";
import { fillMacros } from "./macro-url.ts";
import { partnerBodySentAt, readPartnerEvent } from "./partner-event.ts";
import type { CallbackForm, ReceiverKind } from "./receiver.ts";
import { headerNames, USER_AGENT } from "./signature.ts";

/** Part of a callback that its signature covers, in addition to timestamp and nonce. */
export interface ComposedCallback {
	method: "POST" | "GET";
	target: string;
	/** The body. It is empty for a callback by GET. */
	body: string;
}

/** Composes the callback of one attempt. The form "get" occurs only for partners. */
export function composeCallback(
	{ kind, form, pathAndQuery }: { kind: ReceiverKind; form: CallbackForm; pathAndQuery: string },
	event: EventName,
	eventBody: string,
	sentAtMs: number,
): ComposedCallback {
	if (kind === "shop") {
		return { method: "POST", target: pathAndQuery, body: bodySentAt(event, eventBody, sentAtMs) };
	}
	if (form === "json") {
		return { method: "POST", target: pathAndQuery, body: partnerBodySentAt(event, eventBody, sentAtMs) };
	}
	const target = fillMacros(pathAndQuery, readPartnerEvent(event, eventBody, sentAtMs));
	return { method: "GET", target, body: "" };
}

export interface SentRequest {
	method: "POST" | "GET";
	/** URL as it was sent, with the values in place of its macros. */
	url: string;
	headers: readonly (readonly [name: string, value: string])[];
	body: string;
}

/**
 * Rebuilds the request of an attempt. Returns null if the sending process died during the attempt, because nobody
 * knows how much of the request was sent.
 */
export function rebuildRequest(
	attempt: {
		url: string | null;
		form: CallbackForm | null;
		nonce: string | null;
		signature: string | null;
		started_at_ms: number;
	},
	event: { event: EventName; eventBody: string; kind: ReceiverKind },
	brand: string,
): SentRequest | null {
	const { url, form, nonce, signature, started_at_ms: startedAtMs } = attempt;
	if (url === null || form === null || nonce === null || signature === null) return null;
	const names = headerNames(brand);
	const { origin } = new URL(url);
	const receiver = { kind: event.kind, form, pathAndQuery: url.slice(origin.length) };
	const { method, target, body } = composeCallback(receiver, event.event, event.eventBody, startedAtMs);
	return {
		method,
		url: `${origin}${target}`,
		headers: [
			...(method === "GET" ? [] : [["Content-Type", "application/json"] as const]),
			["User-Agent", USER_AGENT],
			[names.event, event.event],
			[names.timestamp, String(Math.floor(startedAtMs / 1000))],
			[names.nonce, nonce],
			[names.signature, signature],
		],
		body,
	};
}
