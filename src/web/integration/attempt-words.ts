// How an attempt went, in words a shop's developer can act on: what happened, what is known besides, what to do about
// it, and what comes next.

import { type AttemptOutcome, explainAttempt } from "../../callbacks/attempt-cause.ts";
import type { AttemptCause } from "../../callbacks/status-cause.ts";
import type { DeliveryState } from "../../domain/delivery.ts";
import type { KeptAnswer } from "../../domain/kept-answer.ts";
import { MAX_ATTEMPTS } from "../../domain/retry.ts";
import { REPLACED_SECRET_GRACE_MS } from "../../domain/secret-life.ts";
import { isSuccess, type Verdict } from "../../domain/verdict.ts";
import { type Content, html, type Tone, timeTag } from "../ui.ts";

export interface AttemptWords extends AttemptCause {
	tone: Exclude<Tone, "plain">;
}

export function describeAttempt(outcome: AttemptOutcome): AttemptWords {
	return { ...explainAttempt(outcome), tone: toneOf(outcome) };
}

function toneOf({ result, http_status: status }: AttemptOutcome): AttemptWords["tone"] {
	return result === "answered" && isSuccess(status ?? 0) ? "good" : "bad";
}

export interface Circumstances {
	startedAtMs: number;
	/** Where it was sent. */
	url: string | null;
	answer: KeptAnswer | null;
	/** The moments at which a signing secret began to sign callbacks, the newest first. */
	secretsSinceMs: readonly number[];
}

/** What is known of this one attempt besides, and makes its cause plainer; null where nothing is. */
export function describeCircumstances(status: number | null, circumstances: Circumstances): Content {
	const { answer } = circumstances;
	if (status === 401) return describeSecret(circumstances);
	if (answer === null || status === null) return null;
	if (status >= 300 && status <= 399) return describeLocation(answer.location, circumstances.url);
	return answer.retryAfter === null
		? null
		: html`It asked us to wait (Retry-After: <span class="mono break">${answer.retryAfter}</span>), but our retry times are fixed.`;
}

/** As long as the shop has to change over: a 401 within it is most likely the other secret. */
function describeSecret({ secretsSinceMs, startedAtMs }: Circumstances): Content {
	const before = secretsSinceMs.filter((sinceMs) => sinceMs <= startedAtMs);
	const [sinceMs] = before;
	if (sinceMs === undefined || startedAtMs - sinceMs > REPLACED_SECRET_GRACE_MS) return null;
	return before.length > 1
		? html`The signing secret was replaced shortly before, on ${timeTag(sinceMs)}: your server may still check with the old one.`
		: html`The signing secret was issued shortly before, on ${timeTag(sinceMs)}: check that your server has it.`;
}

function describeLocation(location: string | null, url: string | null): Content {
	if (location === null) return "It did not say where to.";
	const target = resolveLocation(location, url);
	const shown = html`<span class="mono break">${target?.href ?? location}</span>`;
	return target === null || target.protocol === "https:"
		? html`It leads to ${shown}.`
		: html`It leads to ${shown}, which is not HTTPS: callbacks are only sent to HTTPS URLs.`;
}

/** Null for what is no URL, or had to be cut or escaped to be shown. */
function resolveLocation(location: string, url: string | null): URL | null {
	if (url === null || !/^[\x21-\x7e]+$/.test(location)) return null;
	return URL.parse(location, url);
}

export interface DeliveryFate {
	state: DeliveryState;
	lastVerdict: Verdict | null;
	/** While it is pending. */
	dueAtMs: number | null;
}

/** What comes after the newest attempt of a delivery; null where nothing more is to be said. */
export function describeNext(
	{ state, lastVerdict, dueAtMs }: DeliveryFate,
	nowMs: number,
	/** Whoever may not is not told to. */
	mayResend: boolean,
): Content {
	if (state === "failed") {
		const { end, advice } = AFTER_FAILURE[lastVerdict ?? "retry"];
		return mayResend ? `${end} ${advice}` : end;
	}
	if (state !== "pending") return null;
	if (dueAtMs === null || dueAtMs <= nowMs) return "It is being sent again now.";
	return html`It is sent again on ${timeTag(dueAtMs)}.`;
}

const AFTER_FAILURE: Readonly<Record<Verdict, { end: string; advice: string }>> = {
	delivered: { end: "", advice: "" },
	retry: {
		end: `That was the last of ${MAX_ATTEMPTS} attempts.`,
		advice: "Resend it once your server works again.",
	},
	refused: {
		end: "We take it as a deliberate refusal and do not retry.",
		advice: "Resend it once the cause is fixed.",
	},
	redirect: { end: "It is not retried.", advice: "Resend it once the URL is right." },
	"forbidden address": { end: "It is not retried.", advice: "Resend it once the URL is right." },
};
