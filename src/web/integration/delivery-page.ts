// A delivery's own page: how it stands, and every attempt (attempt-section).

import { html } from "hono/html";
import { sha256Hex } from "../../domain/signature.ts";
import {
	type DeliveryDetail,
	findDeliveryDetail,
	type ListedAttempt,
	listAttempts,
} from "../../store/attempt-list.ts";
import type { Programme } from "../../store/programmes.ts";
import { listActivations } from "../../store/signing-secrets.ts";
import { card, emptyState, facts, message, padded, pageHeader, section } from "../components/blocks.ts";
import { lastAnswer, nextAttempt, resentMark, stateBadge } from "../components/delivery-words.ts";
import { button, postForm } from "../components/forms.ts";
import { badge, timeTag } from "../components/text.ts";
import type { PageDeps, WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { answerError } from "../error-page.ts";
import type { Content, Html } from "../html.ts";
import { answerStream, liveConnector, liveDot, partial } from "../live-page.ts";
import { answerPage } from "../page.ts";
import { conversionPath, deliveryPath, integrationPath, withQuery } from "../paths.ts";
import { may, programmeOf } from "../viewer.ts";
import { attemptSection } from "./attempt-section.ts";
import { describeNext } from "./attempt-words.ts";
import { hiddenFields, keptOf } from "./tab-form.ts";

const DELIVERY_TARGET = "delivery-live";

export async function showDelivery(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const delivery = await findDeliveryDetail(db, programme.id, c.req.param("deliveryId") ?? "");
	if (delivery === undefined) return answerError(c, "not_found");
	const path = deliveryPath(programme.public_id, delivery.publicId);
	const back = keptOf("callbacks", c.req.query("back") ?? "");
	const live = { seen: fingerprintOf(delivery), back: back === "" ? undefined : back };
	return answerPage(c, {
		title: `${delivery.event} for ${delivery.orderId}`,
		active: "integration",
		body: html`${liveConnector(withQuery(`${path}/live`, live))}
${pageHeader({
	title: delivery.event,
	hint: html`Order <span class="mono">${delivery.orderId}</span> · <a href="${integrationPath(programme.public_id)}${back}#deliveries">${back === "" ? "All callbacks" : "Back to the list"}</a>`,
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
	{ store, clock, network }: WebDeps,
	programme: Programme,
	delivery: DeliveryDetail,
): Promise<Html> {
	const attempts = await listAttempts(store.db, delivery.id);
	const secretsSinceMs = attempts.some(({ http_status }) => http_status === 401)
		? await listActivations(store.db, programme.id)
		: [];
	const nowMs = clock.nowMs();
	const mayIntegrate = may(c, "integrate");
	const hidden = mayIntegrate ? hiddenFields(c, "callbacks", c.req.query("back") ?? "") : null;
	return html`${summary(programme, delivery, attempts[0] ?? null, hidden, nowMs)}${
		attempts.length === 0
			? card(
					emptyState({
						title: "No attempt yet",
						text:
							delivery.state === "pending"
								? "It will be sent in a moment."
								: "It was cancelled before anything was sent.",
					}),
				)
			: attempts.map((attempt, index) =>
					attemptSection({
						programme,
						delivery,
						attempt,
						number: numberOf(attempt, attempts),
						secretsSinceMs,
						brand: network.face.brand,
						mayIntegrate,
						next: index === 0 ? describeNext(delivery, nowMs, mayIntegrate) : null,
					}),
				)
	}`;
}

/** Among the seven of its run; interrupted ones are not among them. */
function numberOf(attempt: ListedAttempt, attempts: readonly ListedAttempt[]): number | null {
	if (attempt.result === "interrupted") return null;
	const isUpToIt = ({ run, seq, result }: ListedAttempt) =>
		run === attempt.run && seq <= attempt.seq && result !== "interrupted";
	return attempts.filter(isUpToIt).length;
}

function summary(
	programme: Programme,
	delivery: DeliveryDetail,
	lastAttempt: ListedAttempt | null,
	/** Null for whoever may not send it. */
	hidden: Html | null,
	nowMs: number,
): Html {
	const { state, attempts, interrupted, lastHttpStatus } = delivery;
	return section({
		id: "delivery",
		title: "Callback",
		actions: hidden === null ? null : sendForm(programme, delivery, hidden, nowMs),
		body: padded(
			facts([
				[
					"State",
					html`${stateBadge(delivery)} ${resentMark(delivery.run)} ${delivery.test === 1 ? badge("info", "Test") : null}`,
				],
				[
					"Attempts",
					`${attempts - interrupted}${interrupted === 0 ? "" : `, and ${interrupted} interrupted, which do not count`}`,
				],
				["Last HTTP status", lastAnswer({ lastHttpStatus, lastAttempt })],
				["Next attempt", nextAttempt(delivery, nowMs)],
				["Created", timeTag(delivery.createdAtMs)],
				...(delivery.finishedAtMs === null ? [] : [["Finished", timeTag(delivery.finishedAtMs)] as const]),
				[
					"Conversion",
					html`<a class="mono" href="${conversionPath(programme.public_id, delivery.conversionId)}">${delivery.conversionId}</a>`,
				],
				["Callback id", html`<span class="mono">${delivery.publicId}</span>`],
			]),
			state === "cancelled"
				? message("info", "The Postback URL was removed while it was pending, so it was cancelled for good.")
				: null,
		),
	});
}

/** What has ended is sent again, what waits is sent now; what is due goes out by itself. */
function sendForm(
	programme: Programme,
	{ publicId, state, dueAtMs, seq }: DeliveryDetail,
	hidden: Html,
	nowMs: number,
): Content {
	const path = deliveryPath(programme.public_id, publicId);
	const form = (action: string, body: Content) =>
		postForm({ action: `${path}/${action}`, csrf: hidden, className: "row", body });
	switch (state) {
		case "delivered":
			return form("resend", button({ label: "Resend" }));
		case "failed":
			return form("resend", button({ label: "Resend", tone: "primary" }));
		case "pending":
			if (dueAtMs === null || dueAtMs <= nowMs) return null;
			return form(
				"send-now",
				html`<input type="hidden" name="seq" value="${seq}">${button({ label: "Send now", tone: "primary" })}`,
			);
		case "cancelled":
			return null;
		default:
			return state satisfies never;
	}
}
