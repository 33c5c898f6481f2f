// A delivery's own page: what it says, and every attempt with what came back, how long each step took, and the
// request exactly as it was sent.

import { html } from "hono/html";
import { sha256Hex } from "../../domain/signature.ts";
import {
	type DeliveryDetail,
	findDeliveryDetail,
	type ListedAttempt,
	listAttempts,
} from "../../store/attempt-list.ts";
import type { Programme } from "../../store/programmes.ts";
import { card, emptyState, facts, message, more, padded, pageHeader, section } from "../components/blocks.ts";
import { nextAttempt, resentMark, stateBadge } from "../components/delivery-words.ts";
import { button, linkButton, postForm } from "../components/forms.ts";
import { badge, codeBlock, timeTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { PageDeps, WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { answerError } from "../error-page.ts";
import type { Content, Html } from "../html.ts";
import { answerStream, liveConnector, liveDot, partial } from "../live-page.ts";
import { answerPage } from "../page.ts";
import { conversionPath, deliveryPath, integrationPath, signaturePath, withQuery } from "../paths.ts";
import { may, programmeOf } from "../viewer.ts";
import { curlCommand, rebuildRequest, requestText } from "./attempt-request.ts";
import { describeAttempt, describeNext, technicalDetail } from "./attempt-words.ts";

const DELIVERY_TARGET = "delivery-live";

export async function showDelivery(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const delivery = await findDeliveryDetail(db, programme.id, c.req.param("deliveryId") ?? "");
	if (delivery === undefined) return answerError(c, "not_found");
	const path = deliveryPath(programme.public_id, delivery.publicId);
	return answerPage(c, {
		title: `${delivery.event} for ${delivery.orderId}`,
		active: "integration",
		body: html`${liveConnector(`${path}/live?seen=${fingerprintOf(delivery)}`)}
${pageHeader({
	title: delivery.event,
	hint: html`Order <span class="mono">${delivery.orderId}</span> · <a href="${integrationPath(programme.public_id)}#deliveries">All postbacks</a>`,
	actions: liveDot(),
})}
<div id="${DELIVERY_TARGET}" class="stack" aria-live="polite">${await renderParts(c, deps, programme, delivery)}</div>`,
	});
}

export async function watchDelivery(c: WebContext, deps: PageDeps): Promise<Response> {
	const programme = programmeOf(c);
	const find = () => findDeliveryDetail(deps.store.db, programme.id, c.req.param("deliveryId") ?? "");
	if ((await find()) === undefined) return answerError(c, "not_found");
	return answerStream(c, deps, {
		async fingerprint() {
			const delivery = await find();
			return delivery === undefined ? "gone" : fingerprintOf(delivery);
		},
		async render() {
			const delivery = await find();
			if (delivery === undefined) return "";
			return String(await partial(DELIVERY_TARGET, await renderParts(c, deps, programme, delivery)));
		},
	});
}

function fingerprintOf({ state, run, attempts, dueAtMs }: DeliveryDetail): string {
	return sha256Hex(JSON.stringify([state, run, attempts, dueAtMs])).slice(0, 16);
}

async function renderParts(
	c: WebContext,
	{ store, clock, brand }: WebDeps,
	programme: Programme,
	delivery: DeliveryDetail,
): Promise<Html> {
	const attempts = await listAttempts(store.db, delivery.id);
	const nowMs = clock.nowMs();
	const mayIntegrate = may(c, "integrate");
	return html`${summary(programme, delivery, mayIntegrate ? csrfField(c) : null, nowMs)}${
		attempts.length === 0
			? card(
					emptyState({
						title: "No attempt yet",
						text:
							delivery.state === "pending"
								? "It goes out in a moment."
								: "It was cancelled before anything was sent.",
					}),
				)
			: attempts.map((attempt, index) =>
					attemptSection(
						programme,
						delivery,
						attempt,
						brand,
						index === 0 ? describeNext(delivery, nowMs) : null,
						mayIntegrate,
					),
				)
	}`;
}

/** `csrf` is null for whoever may not send it again. */
function summary(programme: Programme, delivery: DeliveryDetail, csrf: Html | null, nowMs: number): Html {
	const { state, attempts } = delivery;
	return section({
		id: "delivery",
		title: "Delivery",
		...(csrf !== null && (state === "delivered" || state === "failed")
			? { actions: resendForm(programme, delivery, csrf) }
			: {}),
		body: padded(
			facts([
				[
					"State",
					html`${stateBadge(delivery)} ${resentMark(delivery.run)} ${delivery.test === 1 ? badge("info", "Test") : null}`,
				],
				["Attempts", String(attempts)],
				["Next attempt", nextAttempt(delivery, nowMs)],
				["Made", timeTag(delivery.createdAtMs)],
				...(delivery.finishedAtMs === null ? [] : [["Ended", timeTag(delivery.finishedAtMs)] as const]),
				[
					"Conversion",
					html`<a class="mono" href="${conversionPath(programme.public_id, delivery.conversionId)}">${delivery.conversionId}</a>`,
				],
				["Delivery id", html`<span class="mono">${delivery.publicId}</span>`],
			]),
			state === "cancelled"
				? message("info", "The Postback URL was removed while it waited, so it was cancelled for good.")
				: null,
		),
	});
}

function resendForm(programme: Programme, { publicId }: DeliveryDetail, csrf: Html): Html {
	return postForm({
		action: `${deliveryPath(programme.public_id, publicId)}/resend`,
		csrf,
		className: "row",
		body: button({ label: "Resend", tone: "primary" }),
	});
}

function attemptSection(
	programme: Programme,
	delivery: DeliveryDetail,
	attempt: ListedAttempt,
	brand: string,
	/** What comes after it, of the newest one. */
	next: Content,
	mayIntegrate: boolean,
): Html {
	const words = describeAttempt(attempt);
	const detail = technicalDetail(attempt);
	const request = rebuildRequest(attempt, delivery, brand);
	const checkHref = withQuery(signaturePath(programme.public_id), {
		delivery: delivery.publicId,
		attempt: String(attempt.seq),
	});
	return section({
		id: `attempt-${attempt.seq}`,
		title: `Attempt ${attempt.seq}`,
		hint: html`${timeTag(attempt.started_at_ms)}${attempt.run > 1 ? " · resent by hand" : null}`,
		actions: badge(words.tone, words.title),
		body: padded(
			words.advice === ""
				? null
				: message(words.tone === "plain" ? "info" : words.tone, html`${words.advice} ${next}`),
			facts([
				["Sent to", attempt.url === null ? "—" : html`<span class="mono">${attempt.url}</span>`],
				["Took", duration(attempt)],
				...(detail === null
					? []
					: [["Technical detail", html`<span class="mono">${detail}</span>`] as const]),
			]),
			request === null
				? null
				: html`${more(
						"The request as it was sent",
						codeBlock(requestText(request), `Request of attempt ${attempt.seq}`),
					)}${more(
						"Copy as curl",
						html`<p class="small soft">The signature is good for 300 seconds from the time it was made.</p>`,
						codeBlock(curlCommand(request), `Attempt ${attempt.seq} as curl`),
					)}${
						mayIntegrate
							? html`<div class="row">${linkButton({ label: "Check this signature", href: checkHref, isSmall: true })}</div>`
							: null
					}`,
		),
	});
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
			: html` <span class="soft">(${parts.join(" · ")}${isReused ? " · kept connection" : ""})</span>`
	}`;
}

function milliseconds(ms: number): string {
	return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
}
