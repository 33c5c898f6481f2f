// Sending callbacks again: the forms, and what they do.

import { resendDelivery, resendFailed } from "../../callbacks/resend.ts";
import { type SentNow, sendAllWaiting, sendNow } from "../../callbacks/send-now.ts";
import { type SeenDelivery, type SelectedSent, sendSelected } from "../../callbacks/send-selected.ts";
import type { Result } from "../../domain/fault.ts";
import { attemptsInWords } from "../../domain/retry.ts";
import { isTimeZone, minuteMs } from "../../domain/zone-day.ts";
import type { ListedDelivery } from "../../store/queries/delivery-list.ts";
import { countUndelivered } from "../conversion-ui.ts";
import type { Flash } from "../document.ts";
import { answerError } from "../error-page.ts";
import { readTextFields } from "../form.ts";
import { programmeOf, setFlash, viewerOf, type WebContext, type WebDeps } from "../page.ts";
import { deliveryPath, withQuery } from "../paths.ts";
import { button, type Column, type Content, countOf, type Html, html, postForm, textField } from "../ui.ts";
import type { CallbacksView } from "./callbacks-view.ts";
import { backTo, backWithFault, type FormPart, keptOf } from "./frame.ts";

const LIST: FormPart = { tab: "callbacks", part: "deliveries" };

export async function resendPostback(c: WebContext, deps: WebDeps): Promise<Response> {
	const deliveryId = c.req.param("deliveryId") ?? "";
	const resent = await resendDelivery(deps, programmeOf(c).id, deliveryId, viewerOf(c).personId);
	return backToDelivery(c, deliveryId, resent, () => [
		"good",
		`It is being sent again, with up to ${attemptsInWords()}.`,
	]);
}

const SENT_NOW: Readonly<Record<SentNow, readonly [Flash["tone"], string]>> = {
	sent: ["good", `It is being sent now. This counts as one of its ${attemptsInWords()}.`],
	"under way": ["info", "It is due already and is being sent right now."],
	"tried since": ["info", "It was tried again in the meantime. The newest attempt is below."],
	ended: ["info", "It has finished in the meantime, so nothing was sent."],
};

export async function sendPostbackNow(c: WebContext, deps: WebDeps): Promise<Response> {
	const deliveryId = c.req.param("deliveryId") ?? "";
	const { seq } = await readTextFields(c, ["seq"]);
	const sent = await sendNow(deps, programmeOf(c).id, deliveryId, Number(seq), viewerOf(c).personId);
	return backToDelivery(c, deliveryId, sent, (how) => SENT_NOW[how]);
}

/** Above the page: the parts below are pushed anew from the first moment on. */
async function backToDelivery<Value>(
	c: WebContext,
	deliveryId: string,
	result: Result<Value>,
	tell: (value: Value) => readonly [Flash["tone"], string],
): Promise<Response> {
	if (!result.ok && result.fault.code === "unknown_delivery") return answerError(c, "not_found");
	setFlash(c, ...(result.ok ? tell(result.value) : (["bad", result.fault.detail] as const)));
	const { back } = await readTextFields(c, ["back"]);
	const kept = keptOf("callbacks", back);
	const path = deliveryPath(programmeOf(c).public_id, deliveryId);
	return c.redirect(withQuery(path, { back: kept === "" ? undefined : kept }), 303);
}

export async function resendTicked(c: WebContext, deps: WebDeps): Promise<Response> {
	const { [TICK_FIELD]: ticked = [] } = await c.req.parseBody({ all: true });
	const texts = Array.isArray(ticked) ? ticked : [ticked];
	const seen = texts.flatMap((text) => (typeof text === "string" ? (readSeen(text) ?? []) : []));
	if (seen.length === 0) {
		setFlash(c, "warn", "Nothing is selected. Select the callbacks to send again.", LIST.part);
		return backTo(c, LIST);
	}
	const sent = await sendSelected(deps, programmeOf(c).id, seen.slice(0, MAX_TICKED), viewerOf(c).personId);
	if (!sent.ok) return backWithFault(c, LIST, sent.fault);
	setFlash(c, ...tellSelected(sent.value), LIST.part);
	return backTo(c, LIST);
}

/** More than a page shows. */
const MAX_TICKED = 100;

function tellSelected({ resent, sentNow, leftAlone }: SelectedSent): [Flash["tone"], string] {
	const parts = [
		resent === 0 ? null : `${callbacksAre(resent)} being sent again.`,
		sentNow === 0 ? null : `${countOf(sentNow, "waiting callback")} ${isOrAre(sentNow)} being sent now.`,
		leftAlone === 0
			? null
			: `${countOf(leftAlone, "callback")} ${leftAlone === 1 ? "was" : "were"} skipped: cancelled, being sent right now, or already sent by somebody else.`,
	];
	return [resent + sentNow === 0 ? "info" : "good", parts.filter((part) => part !== null).join(" ")];
}

/** All that failed, or those since a time. */
export async function resendAllFailed(c: WebContext, deps: WebDeps): Promise<Response> {
	const { since, zone } = await readTextFields(c, ["since", "zone"]);
	const sinceMs = since === "" ? null : readSince(since, zone);
	if (sinceMs === undefined) {
		setFlash(c, "bad", "Enter a date and a time, such as 2026-03-01T12:00.", LIST.part);
		return backTo(c, LIST);
	}
	const resent = await resendFailed(deps, programmeOf(c).id, sinceMs, viewerOf(c).personId);
	if (!resent.ok) return backWithFault(c, LIST, resent.fault);
	const nothing = `Nothing has failed${sinceMs === null ? "" : " since then"}, so nothing was sent.`;
	const text = resent.value === 0 ? nothing : `${callbacksAre(resent.value)} being sent again.`;
	setFlash(c, resent.value === 0 ? "info" : "good", text, LIST.part);
	return backTo(c, LIST);
}

/** Where no script said which zone it is in, the form says that it is UTC. */
function readSince(since: string, zone: string): number | undefined {
	return minuteMs(since, isTimeZone(zone) ? zone : "UTC") ?? undefined;
}

export async function sendWaiting(c: WebContext, deps: WebDeps): Promise<Response> {
	const sent = await sendAllWaiting(deps, programmeOf(c).id, viewerOf(c).personId);
	if (!sent.ok) return backWithFault(c, LIST, sent.fault);
	const text =
		sent.value === 0
			? "No callback is waiting for a later attempt."
			: `${callbacksAre(sent.value)} being sent now.`;
	setFlash(c, sent.value === 0 ? "info" : "good", text, LIST.part);
	return backTo(c, LIST);
}

/** "1 callback is", "2 callbacks are". */
function callbacksAre(callbacks: number): string {
	return `${countOf(callbacks, "callback")} ${isOrAre(callbacks)}`;
}

function isOrAre(callbacks: number): string {
	return callbacks === 1 ? "is" : "are";
}

// Sending callbacks again from the list: those that are ticked, all that failed, all that wait, or what failed since a time.
// A box says which callback it is and as which its reader saw it, so that nobody sends again what somebody else just has.

const TICK_FIELD = "delivery";

/** Boxes to tick, with one above that ticks them all. That one needs scripts, and shows only with them. */
export function tickColumn(): Column<ListedDelivery> {
	return {
		title: html`<input type="checkbox" hidden data-select-all="${TICK_FIELD}" aria-label="Select all on this page"><span class="visually-hidden">Select</span>`,
		cell: (row) =>
			row.state === "cancelled"
				? null
				: html`<input type="checkbox" id="tick-${row.publicId}" name="${TICK_FIELD}" value="${writeSeen(row)}" aria-label="Select ${row.event} of order ${row.orderId}">`,
	};
}

function writeSeen({ publicId, run, seq }: SeenDelivery): string {
	return `${publicId}.${run}.${seq}`;
}

/** Null for what no page of ours has written. */
function readSeen(text: string): SeenDelivery | null {
	const [, publicId, run, seq] = /^(dlv_\w+)\.(\d{1,9})\.(\d{1,9})$/.exec(text) ?? [];
	return publicId === undefined ? null : { publicId, run: Number(run), seq: Number(seq) };
}

export function listForm(view: CallbacksView, hasRows: boolean, table: Html): Html {
	const { path, hidden, failedCount, waitingCount } = view;
	const buttons: Content[] = [];
	if (hasRows) buttons.push(button({ label: "Resend selected" }));
	if (failedCount > 0) {
		buttons.push(
			button({
				label: `Resend ${countUndelivered(failedCount)} failed`,
				formAction: `${path}/resend-failed`,
				confirm: `Send ${failedCount === 1 ? "the failed callback" : `all ${countUndelivered(failedCount)} failed callbacks`} again? Your receiver ignores events it has already processed.`,
			}),
		);
	}
	if (waitingCount > 0) {
		buttons.push(
			button({
				label: `Send ${countUndelivered(waitingCount)} waiting now`,
				formAction: `${path}/send-waiting`,
				confirm: "Send all waiting callbacks now? This counts as one attempt for each.",
			}),
		);
	}
	if (buttons.length === 0) return table;
	return postForm({
		action: `${path}/resend`,
		csrf: hidden,
		className: "list-form",
		body: html`<div class="decision-bar"><div class="row">${buttons}</div></div>${table}`,
	});
}

/** The time is the reader's own where scripts run; otherwise it is UTC, and says so. */
export function sinceForm({ path, hidden }: CallbacksView): Html {
	return postForm({
		action: `${path}/resend-failed`,
		csrf: hidden,
		className: "row-end",
		body: html`${textField({
			name: "since",
			label: html`Failed since (<span class="zone-name">UTC</span>)`,
			type: "datetime-local",
			isRequired: true,
		})}<input type="hidden" name="zone" value="" data-zone>${button({
			label: "Resend failed",
			confirm:
				"Send all callbacks again that failed since then? Your receiver ignores events it has already processed.",
		})}`,
	});
}
