// One attempt on its delivery's page: what came back and what it means, what the shop answered, how long each step took,
// and the request exactly as it was sent.

import { html } from "hono/html";
import { technicalDetail } from "../../callbacks/attempt-cause.ts";
import { KEPT_BODY_BYTES, type KeptAnswer, readKeptAnswer } from "../../domain/kept-answer.ts";
import { MAX_ATTEMPTS } from "../../domain/retry.ts";
import { rebuildRequest } from "../../domain/sent-request.ts";
import type { DeliveryDetail, ListedAttempt } from "../../store/attempt-list.ts";
import type { Programme } from "../../store/programmes.ts";
import { facts, message, more, padded, section } from "../components/blocks.ts";
import { linkButton } from "../components/forms.ts";
import { badge, codeBlock, timeTag } from "../components/text.ts";
import type { Content, Html } from "../html.ts";
import { signaturePath, withQuery } from "../paths.ts";
import { curlCommand, requestText } from "./attempt-request.ts";
import { describeAttempt, describeCircumstances } from "./attempt-words.ts";

export interface ShownAttempt {
	programme: Programme;
	delivery: DeliveryDetail;
	attempt: ListedAttempt;
	/** Among those of its run that count; null for one that was interrupted. */
	number: number | null;
	/** The moments at which a signing secret began to sign callbacks, the newest first. */
	secretsSinceMs: readonly number[];
	brand: string;
	/** Whoever may not has no way into “Check a signature”, and is not told what to do. */
	mayIntegrate: boolean;
	/** What comes after it, of the newest one. */
	next: Content;
}

export function attemptSection(shown: ShownAttempt): Html {
	const { attempt, number } = shown;
	const { tone, title, meaning, advice } = describeAttempt(attempt);
	const answer = readKeptAnswer(attempt.answer);
	const known = describeCircumstances(attempt.http_status, {
		startedAtMs: attempt.started_at_ms,
		url: attempt.url,
		answer,
		secretsSinceMs: shown.secretsSinceMs,
	});
	const detail = technicalDetail(attempt);
	return section({
		id: `attempt-${attempt.seq}`,
		title: number === null ? "Interrupted attempt" : `Attempt ${number} of ${MAX_ATTEMPTS}`,
		hint: html`${timeTag(attempt.started_at_ms)}${attempt.run > 1 ? " · resent by hand" : null}`,
		actions: badge(tone, title),
		body: padded(
			meaning === ""
				? null
				: message(tone, html`${meaning} ${known} ${shown.mayIntegrate ? advice : null} ${shown.next}`),
			attempt.http_status === 401 && shown.mayIntegrate
				? html`<div class="row">${linkButton({
						label: "Check what your server received",
						href: withQuery(signaturePath(shown.programme.public_id), {
							delivery: shown.delivery.publicId,
							attempt: String(attempt.seq),
							only: "path",
						}),
						isSmall: true,
					})}</div>`
				: null,
			facts([
				["Sent to", attempt.url === null ? "—" : html`<span class="mono">${attempt.url}</span>`],
				["Duration", duration(attempt)],
				...(detail === null
					? []
					: [["Technical detail", html`<span class="mono">${detail}</span>`] as const]),
				...(answer === null ? [] : headersOf(answer)),
			]),
			answer === null ? null : bodyOf(answer, `Body of the answer to attempt ${attempt.seq}`),
			requestParts(shown),
		),
	});
}

/** In the answer's own names. */
function headersOf(answer: KeptAnswer): (readonly [term: string, value: Content])[] {
	const headers = [
		["Location", answer.location],
		["Content-Type", answer.contentType],
		["Server", answer.server],
		["Retry-After", answer.retryAfter],
	] as const;
	return headers.flatMap(([name, value]) =>
		value === null ? [] : [[name, html`<span class="mono">${value}</span>`] as const],
	);
}

function bodyOf({ body, isCut }: KeptAnswer, label: string): Html {
	if (body === "") {
		return html`<p class="small soft">${isCut ? "The body of the answer did not arrive in time." : "The answer had no body."}</p>`;
	}
	const hint = isCut
		? `What your server answered (at most the first ${KEPT_BODY_BYTES / 1_024} KB are kept):`
		: "What your server answered:";
	return html`<p class="small soft">${hint}</p><div class="quoted">${codeBlock(body, label)}</div>`;
}

function requestParts({ programme, attempt, delivery, brand, mayIntegrate }: ShownAttempt): Html | null {
	const request = rebuildRequest(attempt, delivery, brand);
	if (request === null) return null;
	const signedHref = withQuery(signaturePath(programme.public_id), {
		delivery: delivery.publicId,
		attempt: String(attempt.seq),
	});
	return html`${more(
		"The request as it was sent",
		codeBlock(requestText(request), `Request of attempt ${attempt.seq}`),
	)}${more(
		"Copy as curl",
		html`<p class="small soft">The signature is valid for 300 seconds after it was created.</p>`,
		codeBlock(curlCommand(request), `Attempt ${attempt.seq} as curl`),
	)}${
		mayIntegrate
			? html`<div class="row">${linkButton({ label: "See how it was signed", href: signedHref, isSmall: true })}</div>`
			: null
	}`;
}

function duration(attempt: ListedAttempt): Content {
	if (attempt.took_ms === null) return "unknown";
	const steps: readonly (readonly [string, number | null])[] = [
		["look-up", attempt.look_up_ms],
		["connect", attempt.connect_ms],
		["TLS", attempt.tls_ms],
		["answer", attempt.answer_ms],
	];
	const parts = steps.flatMap(([name, ms]) => (ms === null ? [] : [`${name} ${milliseconds(ms)}`]));
	const isReused = attempt.connect_ms === null && attempt.result === "answered";
	// The whole is told by another clock than its steps, and to the millisecond: it is not less than they are.
	const stepsMs = steps.reduce((sum, [, ms]) => sum + (ms ?? 0), 0);
	return html`<span class="number">${milliseconds(Math.max(attempt.took_ms, stepsMs))}</span>${
		parts.length === 0
			? null
			: html` <span class="soft">(${parts.join(" · ")}${isReused ? " · connection reused" : ""})</span>`
	}`;
}

function milliseconds(ms: number): string {
	return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
}
