// Builds a callback as the service does, without an engine or a database.

import { createPreparer, type PreparedAttempt } from "#core/callbacks/attempt.ts";
import { composeEvent, type EventSubject } from "#core/domain/event.ts";
import type { EventName } from "#core/domain/event-name.ts";
import { signingKey, wireNames } from "#core/domain/signature.ts";
import type { Random } from "#core/ports.ts";
import { receiverId } from "../support/receiver-ids.ts";

export interface CallbackToSend {
	event: EventName;
	subject: EventSubject;
	url: string;
	/** Path and query of the URL, which are signed. */
	target: string;
	secret: string;
	brand: string;
	random: Random;
	nowMs: number;
}

/** A due delivery with fixed values, because the callback does not depend on them. */
const DUE = {
	id: 1,
	receiverId: receiverId(1),
	dueAtMs: 0,
	run: 1,
	counted: 0,
	seq: 0,
	endpointEpoch: 0,
} as const;

/**
 * Events that need a reason (contract section 2.1). The service never creates them without one, and the
 * receiver relies on it.
 */
const REASONED: readonly EventName[] = ["conversion.rejected", "conversion.reversed"];

export function prepareCallback(callback: CallbackToSend): PreparedAttempt["request"] {
	const { event, subject, url, target, secret, brand, random, nowMs } = callback;
	const reason = subject.reason ?? (REASONED.includes(event) ? "OTHER" : null);
	const eventBody = composeEvent({ ...subject, reason });
	const delivery = { ...DUE, eventName: event, eventBody };
	const receiver = { kind: "shop", form: "json" } as const;
	const endpoint = {
		...receiver,
		url,
		pathAndQuery: target,
		endpointId: 1,
		secretId: 1,
		key: signingKey(secret),
	};
	return createPreparer(random)(wireNames(brand), delivery, endpoint, nowMs).request;
}

/** Converts a list of header names and values, as Node and undici use it, to an object. */
export function readHeaderList(list: readonly string[]): Record<string, string> {
	const headers: Record<string, string> = {};
	for (let at = 0; at < list.length; at += 2) headers[list[at] ?? ""] = list[at + 1] ?? "";
	return headers;
}
