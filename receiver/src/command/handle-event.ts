// Handles one event of `ringback listen`. It posts the event to the developer's endpoint. Without an endpoint
// it checks the service's own signature.

import { digestSha256 } from "../hmac.ts";
import { isObject, parseJson } from "../json.ts";
import type { CallbackFields } from "../sign-callback.ts";
import { verifyPostback } from "../verify.ts";
import type { ToldAnswer } from "./answer-teller.ts";
import { forwardEvent, type SentRequest } from "./forward.ts";
import { type Judgement, judgeCheck, judgeForward } from "./judgement.ts";
import type { Settings } from "./settings.ts";
import type { StreamMessage } from "./stream-message.ts";

export type Handled = {
	readonly sent: SentRequest | null;
	/** HTTP status, or null if there was no answer or no endpoint. */
	readonly httpStatus: number | null;
	/** First line of an answer that is not 2xx, or an empty text. */
	readonly firstLine: string;
	readonly tookMs: number;
	readonly judgement: Judgement;
	/** Result to report to the service, or null if nothing is reported. */
	readonly told: Omit<ToldAnswer, "conversionId" | "event"> | null;
};

/** Handles an event. Returns undefined if the command was stopped in the meantime. */
export type HandleEvent = (message: StreamMessage) => Promise<Handled | undefined>;

export function createForwarding(target: URL, settings: Settings, stopSignal: AbortSignal): HandleEvent {
	return async ({ event, data }) => {
		const fields: CallbackFields = JSON.parse(data);
		const { outcome, sent } = await forwardEvent(target, event, fields, settings, stopSignal);
		if (outcome.kind === "stopped") return undefined;
		const { tookMs } = outcome;
		const judged = { sent, tookMs, judgement: judgeForward(outcome, target) };
		switch (outcome.kind) {
			case "answered": {
				const { status, firstLine } = outcome;
				const told = { outcome: "answered", status, tookMs } as const;
				return { ...judged, httpStatus: status, firstLine, told };
			}
			case "timeout":
				return { ...judged, httpStatus: null, firstLine: "", told: { outcome: "timeout", tookMs } };
			case "failed": {
				const told = { outcome: "no_connection", code: wordOf(outcome.code), tookMs } as const;
				return { ...judged, httpStatus: null, firstLine: "", told };
			}
		}
		outcome satisfies never;
		return undefined;
	};
}

export function createChecking({ secret, brand }: Settings): HandleEvent {
	return async ({ event, data, signed }) => {
		const sent = await readSigned(event, data, signed, brand);
		const nobody = { sent, httpStatus: null, firstLine: "", tookMs: 0 };
		if (sent === null) return { ...nobody, judgement: judgeCheck("unsigned"), told: null };
		const { path, headers, body: rawBody } = sent;
		const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
		const verified = await verifyPostback({ path, headers: texts, rawBody, secret, brand });
		if (verified.ok) return { ...nobody, judgement: judgeCheck("verified"), told: { outcome: "verified" } };
		const told = { outcome: "not_verified", code: verified.reason } as const;
		return { ...nobody, judgement: judgeCheck(verified), told };
	};
}

/** Reads the signed callback that the service sent with the event. Returns null if there is none. */
async function readSigned(
	event: string,
	body: string,
	signed: string | undefined,
	brand: string,
): Promise<SentRequest | null> {
	const parts = parseJson(signed ?? "");
	if (!isObject(parts)) return null;
	const { path, timestamp, nonce, signature } = parts;
	if (![path, timestamp, nonce, signature].every((part) => typeof part === "string")) return null;
	return {
		method: "POST",
		path: String(path),
		headers: {
			"Content-Type": "application/json",
			[`X-${brand}-Event`]: event,
			[`X-${brand}-Timestamp`]: String(timestamp),
			[`X-${brand}-Nonce`]: String(nonce),
			[`X-${brand}-Signature`]: String(signature),
		},
		body,
		bodySha256: await digestSha256(new TextEncoder().encode(body)),
	};
}

/** Returns the error code in the form that the service accepts. */
function wordOf(code: string): string {
	return /^\w{1,40}$/.test(code) ? code : "OTHER";
}
