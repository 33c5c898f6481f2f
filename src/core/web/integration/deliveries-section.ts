// Shows the section "Postbacks sent to your shop", or "Callbacks sent to you" for a partner. It lists the callbacks,
// with filters, a search and pages. A person can resend one callback, selected ones, all failed ones, or all that wait
// for their next attempt.

import { type Result, refuse } from "../../domain/fault.ts";
import type { ReceiverKind } from "../../domain/receiver.ts";
import { showOrderId } from "../../domain/visible-text.ts";
import {
	type Asked,
	resendFailed,
	type SeenDelivery,
	type SeenSent,
	sendAllWaiting,
	sendSeen,
	setFailedAside,
} from "../../programmes/resend.ts";
import { ALL, countFailed, countWaiting } from "../../store/queries/delivery-health.ts";
import type { ListedDelivery } from "../../store/queries/delivery-list.ts";
import { batchMessage, callbacksAre, countUndelivered, deliveryColumns } from "../conversion-ui.ts";
import { answerError } from "../error-page.ts";
import { readTextFields } from "../form.ts";
import { filterForm, listRows, type Selection } from "../list.ts";
import { actorOf, setFlash, type WebContext, type WebDeps } from "../page.ts";
import * as ui from "../ui.ts";
import { type Content, countOf, type Html, html } from "../ui.ts";
import type { CalledView } from "./callbacks-view.ts";
import { type Called, type CalledPages, calledOf } from "./called.ts";
import { type FormMessage, type FormPart, finish, queryHere } from "./frame.ts";

/** Titles of the section. The title for shops comes from section 4.2 of the contract. */
const TITLES: Readonly<Record<ReceiverKind, string>> = {
	shop: "Postbacks sent to your shop",
	partner: "Callbacks sent to you",
};

export function deliveriesSection(view: CalledView): Html {
	const { asked, deliveries, called, canSend, nowMs, query } = view;
	const rows = listRows<ListedDelivery>({
		asked,
		page: deliveries,
		noun: "callback",
		caption: "Callbacks, one per row",
		isTight: true,
		columns: Object.values(deliveryColumns(called, nowMs, query || undefined)),
		none: noneOf(view),
		noMatch: {
			title: "No callback matches",
			text: `Choose another state or event, or clear the filter.${called.kind === "shop" ? " The inbound log shows whether we received an order." : ""}`,
		},
		selection: canSend ? selectionOf(view) : null,
	});
	return ui.section({
		id: "deliveries",
		title: TITLES[called.kind],
		hint: "One row per callback, with attempts and your server's last response.",
		message: view.messageAt("deliveries"),
		body: html`${filterForm(asked, "Filter callbacks")}<div id="deliveries-live" aria-live="polite">${rows}</div>`,
	});
}

function noneOf({ url, mayIntegrate, called }: CalledView): ui.EmptyState {
	const [urlLabel, test] =
		called.kind === "shop" ? ["Postback URL", "conversion"] : ["callback URL", "callback"];
	const advice =
		url === null
			? html`<a href="#callback">Save a ${urlLabel}</a> first, then send a test ${test}.`
			: html`<a href="#test">Send a test ${test}</a> and watch it arrive here.`;
	return {
		title: `Nothing has been sent to a ${urlLabel} yet`,
		text: mayIntegrate ? advice : "Callbacks appear here as they are sent.",
	};
}

// Name of the checkboxes in the list. The value of a checkbox contains the callback's id and the number of the last
// attempt that the reader has seen. If the callback was sent again since then, the form skips it.

export const TICK_FIELD = "delivery";
/** Maximum number of callbacks that one form may select. A page of the list shows fewer. */
const MAX_TICKED = 100;

export function writeSeen({ publicId, run, seq }: SeenDelivery): string {
	return `${publicId}.${run}.${seq}`;
}

/** Parses the value of a checkbox. Returns null if the value was not written by `writeSeen`. */
function readSeen(text: unknown): SeenDelivery | null {
	const [, publicId, run, seq] = /^(dlv_\w+)\.(\d{1,9})\.(\d{1,9})$/.exec(String(text)) ?? [];
	return publicId === undefined ? null : { publicId, run: Number(run), seq: Number(seq) };
}

/** Returns the form with the buttons, or null if no callback can be sent. */
function selectionOf(view: CalledView): Selection<ListedDelivery> | null {
	const { path, query, failedCount, waitingCount, called, nowMs, deliveries } = view;
	const [failed, waiting] = [countUndelivered(failedCount), countUndelivered(waitingCount)];
	const buttons: Content[] = [
		deliveries.rows.length === 0 ? null : ui.button({ label: "Resend selected" }),
		failedCount === 0
			? null
			: ui.button({
					label: `Resend ${failed} failed`,
					formAction: `${path}/resend-failed${query}`,
					confirm: `Send ${failedCount === 1 ? "the failed callback" : `all ${failed} failed callbacks`} again? Your receiver ignores events it has already processed.`,
				}),
		failedCount === 0 || called.kind === "shop"
			? null
			: html`<input type="hidden" name="until" value="${nowMs}">${ui.button({
					label: `Set ${failed} failed aside`,
					formAction: `${path}/set-aside${query}`,
				})}`,
		waitingCount === 0
			? null
			: ui.button({
					label: `Send ${waiting} waiting now`,
					formAction: `${path}/send-waiting${query}`,
					confirm: "Send all waiting callbacks now? This counts as one attempt for each.",
				}),
	];
	if (buttons.every((button) => button === null)) return null;
	const subjectOf = ({ orderId, conversionId }: ListedDelivery) =>
		called.kind === "shop" ? `order ${showOrderId(orderId)}` : conversionId || "a test";
	return {
		action: `${path}/resend${query}`,
		name: TICK_FIELD,
		box: (delivery) =>
			delivery.state === "cancelled"
				? null
				: {
						id: `tick-${delivery.publicId}`,
						value: writeSeen(delivery),
						label: `Select ${delivery.event} of ${subjectOf(delivery)}`,
					},
		above: html`<div class="decision-bar"><div class="row">${buttons}</div></div>`,
	};
}

function listPart({ path }: CalledPages): FormPart {
	return { path, part: "deliveries" };
}

/**
 * Calls `work` with the receiver in the address. A partner that never saved a URL has no receiver and no callbacks.
 */
async function withCalled(
	c: WebContext,
	deps: WebDeps,
	work: (called: Called, asked: Asked) => Promise<Response>,
): Promise<Response> {
	const called = await calledOf(c, deps);
	if (called === null) return answerError(c, "not_found");
	return work(called, { receiver: called.receiver, actor: actorOf(c) });
}

export function resendTicked(c: WebContext, deps: WebDeps): Promise<Response> {
	return withCalled(c, deps, async (called, asked) =>
		finish(c, listPart(called), await sendTicked(c, deps, asked), sentMessage),
	);
}

/**
 * Sends one callback from its own page. The message is at the top of the page, because the parts below are reloaded at
 * once.
 */
export function resendOne(c: WebContext, deps: WebDeps): Promise<Response> {
	return withCalled(c, deps, async (called, asked) => {
		const sent = await sendTicked(c, deps, asked);
		setFlash(c, ...(sent.ok ? sentMessage(sent.value) : (["bad", sent.fault.detail] as const)));
		const path = called.deliveryPath(c.req.param("deliveryId") ?? "");
		return c.redirect(`${path}${queryHere(c)}`, 303);
	});
}

async function sendTicked(c: WebContext, deps: WebDeps, asked: Asked): Promise<Result<SeenSent>> {
	const { [TICK_FIELD]: ticked = [] } = await c.req.parseBody({ all: true });
	const seen = [ticked].flat().flatMap((text) => readSeen(text) ?? []);
	if (seen.length > 0) return sendSeen(deps, asked, seen.slice(0, MAX_TICKED));
	return refuse("invalid_field", "Nothing is selected. Select the callbacks to send again.");
}

function sentMessage({ resent, sentNow, leftAlone }: SeenSent): FormMessage {
	const parts = [
		resent === 0 ? null : `${callbacksAre(resent)} being sent again.`,
		sentNow === 0 ? null : `${callbacksAre(sentNow, "waiting callback")} being sent now.`,
		leftAlone === 0
			? null
			: `${countOf(leftAlone, "callback")} ${leftAlone === 1 ? "was" : "were"} skipped. A callback is skipped if it was cancelled, is being sent right now, or was sent since you opened the page.`,
	];
	return [resent + sentNow === 0 ? "info" : "good", parts.filter((part) => part !== null).join(" ")];
}

export function resendAllFailed(c: WebContext, deps: WebDeps): Promise<Response> {
	return withCalled(c, deps, async (called, { receiver, actor }) => {
		const resent = await resendFailed(deps, { receivers: [receiver], actor });
		const left = await countFailed(deps.store.db, receiver.receiver_id, ALL);
		return finish(c, listPart(called), resent, (worked) =>
			batchMessage(worked, "being sent again", "Nothing has failed, so nothing was sent.", left),
		);
	});
}

/** Sets failed callbacks of a partner aside. Shops do this on their Overview. */
export function setPartnerFailuresAside(c: WebContext, deps: WebDeps): Promise<Response> {
	return withCalled(c, deps, async (called, asked) => {
		const { until } = await readTextFields(c, ["until"]);
		const done = await setFailedAside(deps, asked, Number(until) || 0);
		const left = await countFailed(deps.store.db, asked.receiver.receiver_id, ALL);
		return finish(c, listPart(called), done, (worked) =>
			batchMessage(worked, "set aside", "There was nothing to set aside.", left),
		);
	});
}

export function sendWaiting(c: WebContext, deps: WebDeps): Promise<Response> {
	return withCalled(c, deps, async (called, asked) => {
		const sent = await sendAllWaiting(deps, asked);
		const { receiver_id: receiverId } = asked.receiver;
		const left = await countWaiting(deps.store.db, receiverId, deps.clock.nowMs(), ALL);
		return finish(c, listPart(called), sent, (worked) =>
			batchMessage(worked, "being sent now", "No callback is waiting for a later attempt.", left),
		);
	});
}
