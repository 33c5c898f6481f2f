// Shows the page of one callback with its state and every attempt.

import { explainAttempt, technicalDetail } from "../../callbacks/attempt-cause.ts";
import { type AnswerExcerpt, EXCERPT_BODY_BYTES, readExcerpt } from "../../domain/answer-excerpt.ts";
import { rebuildRequest, type SentRequest } from "../../domain/callback-request.ts";
import type { DeliveryState } from "../../domain/delivery.ts";
import { readPartnerEvent } from "../../domain/partner-event.ts";
import { MAX_ATTEMPTS } from "../../domain/retry.ts";
import { isSuccess, judgeResult, type Verdict } from "../../domain/verdict.ts";
import { showOrderId } from "../../domain/visible-text.ts";
import {
	type DeliveryDetail,
	findDeliveryDetail,
	type ListedAttempt,
	listAttempts,
} from "../../store/queries/delivery-list.ts";
import { lastAnswer, nextAttempt, stateCell } from "../conversion-ui.ts";
import { answerError } from "../error-page.ts";
import { answerPage, viewerOf, type WebContext, type WebDeps } from "../page.ts";
import { conversionPath, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { type Called, calledOf } from "./called.ts";
import { TICK_FIELD, writeSeen } from "./deliveries-section.ts";
import { queryHere, queryOf } from "./frame.ts";

/**
 * Shows the page of a callback. While the callback is pending, the open page is reloaded every few seconds.
 */
export async function showDelivery(c: WebContext, { store, clock, network }: WebDeps): Promise<Response> {
	const called = await calledOf(c, { store });
	const { columns, mayIntegrate } = called ?? {};
	const deliveryId = c.req.param("deliveryId") ?? "";
	const delivery = columns && (await findDeliveryDetail(store.db, columns.receiver_id, deliveryId));
	if (called === null || delivery === undefined || mayIntegrate === undefined)
		return answerError(c, "not_found");
	const attempts = await listAttempts(store.db, delivery.id);
	const nowMs = clock.nowMs();
	const back = queryOf(c.req.query("back") ?? "");
	const path = called.deliveryPath(delivery.publicId);
	const again = ui.refreshed("delivery-live", `${path}${queryHere(c)}`, 2);
	const isPending = delivery.state === "pending";
	const text = isPending ? "It will be sent in a moment." : "It was cancelled before anything was sent.";
	const subject = called.kind === "shop" ? showOrderId(delivery.orderId) : delivery.conversionId || "a test";
	return answerPage(c, {
		title: `${delivery.event} for ${subject}`,
		active: called.area,
		body: html`${ui.pageHeader({
			title: delivery.event,
			hint: html`${called.kind === "shop" ? "Order" : "Conversion"} <span class="mono">${subject}</span> · <a href="${called.path}${back}#deliveries">${back === "" ? "All callbacks" : "Back to the list"}</a>`,
		})}<div id="delivery-live" class="stack"${ui.attrs(isPending ? again : {})}>${summary(
			called,
			delivery,
			attempts[0] ?? null,
			{
				actions: mayIntegrate ? sendForm(delivery, path, queryHere(c), nowMs) : null,
				nowMs,
				isStaff: viewerOf(c).kind === "staff",
			},
		)}${attempts.length === 0 ? ui.card(ui.emptyState({ title: "No attempt yet", text })) : null}${attempts.map(
			(attempt, index) =>
				attemptSection({
					called,
					delivery,
					attempt,
					number: numberOf(attempt, attempts),
					brand: network.face.brand,
					next: index === 0 ? describeNext(fateOf(delivery, attempt), nowMs, mayIntegrate) : null,
				}),
		)}</div>`,
	});
}

/** Returns the number of an attempt, from 1 to 7. The count starts again when a person resends the callback. */
function numberOf(attempt: ListedAttempt, attempts: readonly ListedAttempt[]): number {
	return attempts.filter(({ run, seq }) => run === attempt.run && seq <= attempt.seq).length;
}

function summary(
	called: Called,
	delivery: DeliveryDetail,
	lastAttempt: ListedAttempt | null,
	{ actions, nowMs, isStaff }: { actions: Content; nowMs: number; isStaff: boolean },
): Html {
	const { state, attempts, lastHttpStatus } = delivery;
	return ui.section({
		id: "delivery",
		title: "Callback",
		actions,
		body: ui.padded(
			ui.facts([
				["State", html`${stateCell(delivery)} ${delivery.test === 1 ? ui.badge("info", "Test") : null}`],
				["Attempts", String(attempts)],
				["Last HTTP status", lastAnswer({ lastHttpStatus, lastAttempt })],
				["Next attempt", nextAttempt(delivery, nowMs)],
				["Created", ui.timeTag(delivery.createdAtMs)],
				...(delivery.finishedAtMs === null ? [] : [["Finished", ui.timeTag(delivery.finishedAtMs)] as const]),
				["Conversion", conversionOf(called, delivery, isStaff)],
				["Callback ID", html`<span class="mono">${delivery.publicId}</span>`],
			]),
			state === "cancelled"
				? ui.message(
						"info",
						"The URL was removed while this callback was pending, so it was cancelled for good.",
					)
				: null,
		),
	});
}

/** Links to the conversion's page. Partners get no link, because they must not see that page. */
function conversionOf(
	{ kind, ownerId }: Called,
	{ conversionId, event, eventBody }: DeliveryDetail,
	isStaff: boolean,
): Content {
	if (conversionId === "") return "none, because it is a test";
	if (kind === "partner" && !isStaff) return html`<span class="mono">${conversionId}</span>`;
	const programmeId = kind === "shop" ? ownerId : readPartnerEvent(event, eventBody, 0).programId;
	return html`<a class="mono" href="${conversionPath(programmeId, conversionId)}">${conversionId}</a>`;
}

/**
 * Returns the button "Resend", or "Send now" if the callback waits for its next attempt. A due callback gets no
 * button.
 */
function sendForm(delivery: DeliveryDetail, path: string, query: string, nowMs: number): Content {
	const { state, dueAtMs } = delivery;
	if (state === "cancelled" || (state === "pending" && (dueAtMs ?? 0) <= nowMs)) return null;
	return ui.buttonForm({
		action: `${path}/resend${query}`,
		hidden: { [TICK_FIELD]: writeSeen(delivery) },
		label: state === "pending" ? "Send now" : "Resend",
		...(state === "delivered" ? {} : { tone: "primary" }),
	});
}

export interface DeliveryFate {
	state: DeliveryState;
	lastVerdict: Verdict;
	/** Time of the next attempt, or null if the callback is not pending. */
	dueAtMs: number | null;
}

function fateOf({ state, dueAtMs }: DeliveryDetail, newest: ListedAttempt): DeliveryFate {
	return { state, dueAtMs, lastVerdict: judgeResult(newest.result, newest.http_status) };
}

/** Returns a sentence about the next attempt, or null if there is none to announce. */
export function describeNext(
	{ state, lastVerdict, dueAtMs }: DeliveryFate,
	nowMs: number,
	/** True if the reader may resend the callback. Only then does the text advise it. */
	mayResend: boolean,
): Content {
	if (state === "failed") {
		const [end, advice] = AFTER_FAILURE[lastVerdict];
		return mayResend ? `${end} ${advice}` : end;
	}
	if (state !== "pending") return null;
	if (dueAtMs === null || dueAtMs <= nowMs) return "It is being sent again now.";
	return html`It is sent again on ${ui.timeTag(dueAtMs)}.`;
}

const WRONG_URL = ["It is not retried.", "Resend it once the URL is right."] as const;

const AFTER_FAILURE: Readonly<Record<Verdict, readonly [end: string, advice: string]>> = {
	delivered: ["", ""],
	retry: [`That was the last of ${MAX_ATTEMPTS} attempts.`, "Resend it once your server works again."],
	refused: ["We take it as a deliberate refusal and do not retry.", "Resend it once the cause is fixed."],
	redirect: WRONG_URL,
	"forbidden address": WRONG_URL,
};

// Data for the section of one attempt, which shows the result, the shop's answer, the duration of each step, and the
// request.

interface ShownAttempt {
	/**
	 * Receiver of the callback. A reader who may not change the receiver sees no advice and no link to “Check a
	 * signature”.
	 */
	called: Called;
	delivery: DeliveryDetail;
	attempt: ListedAttempt;
	/** Number of the attempt, counted from the last time that a person resent the callback. */
	number: number;
	brand: string;
	/** Sentence about the next attempt, or null if this attempt is not the newest. */
	next: Content;
}

/** Returns whether the result ends the run, so that no attempt follows without a person. */
function isFinal({ result, http_status }: ListedAttempt): boolean {
	const verdict = judgeResult(result, http_status);
	return verdict !== "retry" && verdict !== "delivered";
}

function attemptSection(shown: ShownAttempt): Html {
	const { attempt, number } = shown;
	const { title, meaning, advice } = explainAttempt(attempt);
	const tone = attempt.result === "answered" && isSuccess(attempt.http_status ?? 0) ? "good" : "bad";
	const answer = readExcerpt(attempt.answer);
	const detail = technicalDetail(attempt);
	return ui.section({
		id: `attempt-${attempt.seq}`,
		title: isFinal(attempt) ? `Attempt ${number}` : `Attempt ${number} of ${MAX_ATTEMPTS}`,
		hint: html`${ui.timeTag(attempt.started_at_ms)}${attempt.run > 1 ? " · resent by hand" : null}`,
		actions: ui.badge(tone, title),
		body: ui.padded(
			meaning === ""
				? null
				: ui.message(tone, html`${meaning} ${shown.called.mayIntegrate ? advice : null} ${shown.next}`),
			ui.facts([
				["Sent to", attempt.url === null ? "—" : html`<span class="mono break">${attempt.url}</span>`],
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

/** Returns the stored headers of the answer. */
function headersOf(answer: AnswerExcerpt): (readonly [term: string, value: Content])[] {
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

function bodyOf({ body, isCut }: AnswerExcerpt, label: string): Html {
	if (body === "") {
		return html`<p class="small soft">${isCut ? "The body of the answer did not arrive in time." : "The answer had no body."}</p>`;
	}
	const hint = isCut
		? `What your server answered (at most the first ${EXCERPT_BODY_BYTES / 1_024} KB are stored):`
		: "What your server answered:";
	return html`<p class="small soft">${hint}</p><div class="quoted">${ui.codeBlock(body, label)}</div>`;
}

function requestParts({ called, attempt, delivery, brand }: ShownAttempt): Html | null {
	const request = rebuildRequest(attempt, { ...delivery, kind: called.kind }, brand);
	// Only people who may change the integration see the request, because nobody else may see its signature.
	if (request === null || !called.mayIntegrate) return null;
	const signedHref = withQuery(called.signaturePath, {
		delivery: delivery.publicId,
		attempt: String(attempt.seq),
	});
	return html`${ui.more(
		"The request as it was sent",
		ui.codeBlock(requestText(request), `Request of attempt ${attempt.seq}`),
	)}${ui.more(
		"Copy as curl",
		html`<p class="small soft">The signature is valid for 300 seconds after it was created.</p>`,
		ui.codeBlock(curlCommand(request), `Attempt ${attempt.seq} as curl`),
	)}<div class="row">${ui.linkButton({ label: "Check its signature", href: signedHref, isSmall: true })}</div>`;
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
	// The total was measured with another clock, in whole milliseconds. The shown total must not be less than
	// the sum of the steps.
	const stepsMs = steps.reduce((sum, [, ms]) => sum + (ms ?? 0), 0);
	return html`<span class="number">${milliseconds(Math.max(attempt.took_ms, stepsMs))}</span>${
		parts.length === 0
			? null
			: html` <span class="soft">(${parts.join(" · ")}${isReused ? " · connection reused" : ""})</span>`
	}`;
}

function milliseconds(ms: number): string {
	return `${ui.count(ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms))} ms`;
}

/** Returns the request as HTTP text, which people can read or paste into “Check a signature”. */
export function requestText({ method, url, headers, body }: SentRequest): string {
	const { pathname, search, host } = new URL(url);
	const lines = headers.map(([name, value]) => `${name}: ${value}`);
	return [`${method} ${pathname}${search} HTTP/1.1`, `Host: ${host}`, ...lines, "", body].join("\n");
}

export function curlCommand({ method, url, headers, body }: SentRequest): string {
	const lines = headers.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
	const data = method === "GET" ? [] : [`--data-binary ${quote(body)}`];
	return [`curl -i -X ${method} ${quote(url)}`, ...lines, ...data].join(" \\\n  ");
}

/** Quotes a word for a POSIX shell. Within single quotes, only the single quote itself needs escaping. */
export function quote(word: string): string {
	return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
