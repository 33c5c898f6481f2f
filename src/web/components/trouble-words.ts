// Callbacks that fail, in words: the banner on every page of a programme, and the pieces that other pages share with it.

import { html } from "hono/html";
import { explainFailure } from "../../callbacks/failure-cause.ts";
import type { PresentTrouble } from "../../callbacks/trouble.ts";
import { MAX_COUNTED_UNDELIVERED, type Undelivered } from "../../store/delivery-health.ts";
import type { ShownNotice } from "../../store/notice-list.ts";
import type { Content, Html } from "../html.ts";
import { deliveryPath, integrationPath, noticesPath, withQuery } from "../paths.ts";
import { count, timeTag } from "./text.ts";

/** Where it stands, also while there is none: pages that are live push it. */
export const TROUBLE_TARGET = "trouble-live";

/** Null while callbacks work, and while a failure is only watched. */
export function troubleBanner(
	trouble: PresentTrouble | null,
	programmeId: string,
	/** Whoever may not put it right is told what is wrong, and not what to do. */
	{ nowMs, mayIntegrate }: { nowMs: number; mayIntegrate: boolean },
): Html | null {
	if (trouble === null || !trouble.isSerious) return null;
	const { notice, undelivered } = trouble;
	const advice = mayIntegrate ? explainFailure(notice).advice : null;
	return html`<section class="message message-bad" aria-label="Callbacks are failing"><div>
	<p><strong>Callbacks are failing</strong> since ${timeTag(notice.opened_at_ms)}. ${lastFailure(notice, programmeId)}</p>
	<p>${sayUndelivered(undelivered, programmeId, nowMs)} ${advice} <a href="${noticesPath(programmeId)}">See the notice</a></p>
</div></section>`;
}

/** When, which order, why: with a link to the very callback. */
export function lastFailure(notice: ShownNotice, programmeId: string): Html {
	const { cause } = explainFailure(notice);
	const when = notice.last_failed_at_ms === null ? null : html` ${timeTag(notice.last_failed_at_ms)}`;
	const order =
		notice.lastOrderId === null || notice.lastDeliveryPublicId === null
			? null
			: html`, <a href="${deliveryPath(programmeId, notice.lastDeliveryPublicId)}">order <span class="break">${notice.lastOrderId}</span></a>`;
	return html`Last failed attempt${when}${order}: ${cause}`;
}

/** Whole sentences, with links to the lists. */
export function sayUndelivered(
	{ waiting, failed, nextDueAtMs }: Undelivered,
	programmeId: string,
	nowMs: number,
): Content {
	const next =
		nextDueAtMs === null || nextDueAtMs <= nowMs
			? "the next attempt is being made now"
			: html`next attempt ${timeTag(nextDueAtMs)}`;
	return [
		waiting === 0
			? "No callback is waiting."
			: html`<a href="${deliveriesPath(programmeId, "pending")}">${callbacksOf(waiting)}</a> ${waiting === 1 ? "is" : "are"} waiting; ${next}.`,
		failed === 0
			? null
			: html` <a href="${deliveriesPath(programmeId, "failed")}">${callbacksOf(failed)}</a> failed permanently; no more retries.`,
	];
}

export function deliveriesPath(programmeId: string, state: "pending" | "failed"): string {
	return `${withQuery(integrationPath(programmeId), { state })}#deliveries`;
}

function callbacksOf(number: number): string {
	return number === 1 ? "1 callback" : `${countUndelivered(number)} callbacks`;
}

/** As far as they are counted. */
export function countUndelivered(number: number): string {
	return number < MAX_COUNTED_UNDELIVERED ? count(number) : `${count(MAX_COUNTED_UNDELIVERED)}+`;
}
