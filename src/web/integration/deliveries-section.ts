// The section "Postbacks sent to your shop". It lists the callbacks, with filters, a search and pages. A
// person can resend one callback, the selected ones, all that failed, or all that wait for their next
// attempt.

import { type Result, refuse } from "../../domain/fault.ts";
import { showOrderId } from "../../domain/visible-text.ts";
import {
	type Asked,
	resendFailed,
	type SeenDelivery,
	type SeenSent,
	sendAllWaiting,
	sendSeen,
} from "../../programmes/resend.ts";
import { ALL, countFailed, countWaiting } from "../../store/queries/delivery-health.ts";
import type { ListedDelivery } from "../../store/queries/delivery-list.ts";
import {
	batchMessage,
	callbacksAre,
	countUndelivered,
	deliveryColumns,
	selectAll,
} from "../conversion-ui.ts";
import { filterBar, notUnderstood, pager } from "../filter-query.ts";
import { actorOf, programmeOf, setFlash, type WebContext, type WebDeps } from "../page.ts";
import { deliveryPath, integrationPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, countOf, type Html, html } from "../ui.ts";
import { type CallbacksView, DELIVERY_FILTERS } from "./callbacks-view.ts";
import { type FormMessage, type FormPart, finish, queryHere } from "./frame.ts";

export function deliveriesSection(view: CallbacksView): Html {
	const { path, filters, isLive } = view;
	return ui.section({
		id: "deliveries",
		title: "Postbacks sent to your shop",
		hint: "One row per callback, with attempts and your server's last response.",
		message: view.messageAt("deliveries"),
		body: html`${filterBar({
			action: `${path}#deliveries`,
			label: "Filter the callbacks",
			search: DELIVERY_FILTERS.fields(filters, ["order"], { prefix: "delivery-" }),
			fields: DELIVERY_FILTERS.fields(filters, ["state", "event"], { prefix: "delivery-" }),
			...(isLive ? {} : { clearHref: `${path}#deliveries` }),
		})}<div id="deliveries-live" aria-live="polite">${deliveriesTable(view)}</div>`,
	});
}

function deliveriesTable(view: CallbacksView): Html {
	const { path, canSend, deliveries, programme, nowMs, query } = view;
	if (deliveries === null) {
		return notUnderstood(html`Correct it above, or <a href="${path}#deliveries">see all callbacks</a>.`);
	}
	const { rows } = deliveries.page;
	const columns = Object.values(deliveryColumns(programme.public_id, nowMs, query || undefined));
	const table = ui.dataTable<ListedDelivery>({
		caption: "Callbacks, one per row",
		rows,
		empty: emptyOf(view, deliveries.page.next === null),
		stacks: "tight",
		columns: canSend ? [TICK_COLUMN, ...columns] : columns,
	});
	return html`${canSend ? listForm(view, rows.length > 0, table) : table}${pager(deliveries.pages)}`;
}

function emptyOf({ filters: { typed }, url, mayIntegrate }: CallbacksView, isEnd: boolean): Content {
	if (Object.keys(typed).length > 0) {
		const text = isEnd
			? "Choose another state or event, or clear the filter. The inbound log shows whether we received an order."
			: "None found so far. Choose “Older” to look further back.";
		return ui.emptyState({ title: "No callback matches", text });
	}
	const advice =
		url === null
			? html`<a href="#callback">Save a Postback URL</a> first, then send a test conversion.`
			: html`<a href="#test">Send a test conversion</a> and watch it arrive here.`;
	return ui.emptyState({
		title: "Nothing has been sent to a Postback URL yet",
		text: mayIntegrate ? advice : "Callbacks appear here as they are sent.",
	});
}

// Checkboxes and buttons of the list. The value of a checkbox contains the callback's id and the number of
// the last attempt that the reader has seen. If the callback was sent again since then, the form skips it.

export const TICK_FIELD = "delivery";
/** Maximum number of callbacks that one form may select. A page of the list shows fewer. */
const MAX_TICKED = 100;

const TICK_COLUMN: ui.Column<ListedDelivery> = {
	title: selectAll(TICK_FIELD),
	cell: (delivery) =>
		delivery.state === "cancelled"
			? null
			: html`<input type="checkbox" id="tick-${delivery.publicId}" name="${TICK_FIELD}" value="${writeSeen(delivery)}" aria-label="Select ${delivery.event} of order ${showOrderId(delivery.orderId)}">`,
};

export function writeSeen({ publicId, run, seq }: SeenDelivery): string {
	return `${publicId}.${run}.${seq}`;
}

/** Parses the value of a checkbox. Returns null if the value was not written by `writeSeen`. */
function readSeen(text: unknown): SeenDelivery | null {
	const [, publicId, run, seq] = /^(dlv_\w+)\.(\d{1,9})\.(\d{1,9})$/.exec(String(text)) ?? [];
	return publicId === undefined ? null : { publicId, run: Number(run), seq: Number(seq) };
}

function listForm(view: CallbacksView, hasRows: boolean, table: Html): Html {
	const { path, query, failedCount, waitingCount } = view;
	const [failed, waiting] = [countUndelivered(failedCount), countUndelivered(waitingCount)];
	const buttons: Content[] = [
		hasRows ? ui.button({ label: "Resend selected" }) : null,
		failedCount === 0
			? null
			: ui.button({
					label: `Resend ${failed} failed`,
					formAction: `${path}/resend-failed${query}`,
					confirm: `Send ${failedCount === 1 ? "the failed callback" : `all ${failed} failed callbacks`} again? Your receiver ignores events it has already processed.`,
				}),
		waitingCount === 0
			? null
			: ui.button({
					label: `Send ${waiting} waiting now`,
					formAction: `${path}/send-waiting${query}`,
					confirm: "Send all waiting callbacks now? This counts as one attempt for each.",
				}),
	];
	if (buttons.every((button) => button === null)) return table;
	return ui.postForm({
		action: `${path}/resend${query}`,
		className: "list-form",
		body: html`<div class="decision-bar"><div class="row">${buttons}</div></div>${table}`,
	});
}

// The actions of the buttons.

function askedBy(c: WebContext): Asked {
	return { programme: programmeOf(c), actor: actorOf(c) };
}

const LIST: FormPart = { path: integrationPath, part: "deliveries" };

export async function resendTicked(c: WebContext, deps: WebDeps): Promise<Response> {
	return finish(c, LIST, await sendTicked(c, deps), sentMessage);
}

/**
 * Sends one callback from its own page. The result is shown at the top of the page, because the parts below
 * are reloaded at once.
 */
export async function resendOne(c: WebContext, deps: WebDeps): Promise<Response> {
	const sent = await sendTicked(c, deps);
	setFlash(c, ...(sent.ok ? sentMessage(sent.value) : (["bad", sent.fault.detail] as const)));
	const path = deliveryPath(programmeOf(c).public_id, c.req.param("deliveryId") ?? "");
	return c.redirect(`${path}${queryHere(c)}`, 303);
}

async function sendTicked(c: WebContext, deps: WebDeps): Promise<Result<SeenSent>> {
	const { [TICK_FIELD]: ticked = [] } = await c.req.parseBody({ all: true });
	const seen = [ticked].flat().flatMap((text) => readSeen(text) ?? []);
	if (seen.length > 0) return sendSeen(deps, askedBy(c), seen.slice(0, MAX_TICKED));
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

export async function resendAllFailed(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const resent = await resendFailed(deps, { programmes: [programme], actor: actorOf(c) });
	const left = await countFailed(deps.store.db, programme.receiver_id, ALL);
	return finish(c, LIST, resent, (worked) =>
		batchMessage(worked, "being sent again", "Nothing has failed, so nothing was sent.", left),
	);
}

export async function sendWaiting(c: WebContext, deps: WebDeps): Promise<Response> {
	const sent = await sendAllWaiting(deps, askedBy(c));
	const left = await countWaiting(deps.store.db, programmeOf(c).receiver_id, deps.clock.nowMs(), ALL);
	return finish(c, LIST, sent, (worked) =>
		batchMessage(worked, "being sent now", "No callback is waiting for a later attempt.", left),
	);
}
