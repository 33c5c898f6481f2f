// Sending callbacks again from the list: those that are ticked, all that failed, all that wait, or what failed since a time.
// A box says which callback it is and as which its reader saw it, so that nobody sends again what somebody else just has.

import { html } from "hono/html";
import type { SeenDelivery } from "../../callbacks/send-selected.ts";
import type { ListedDelivery } from "../../store/delivery-list.ts";
import { button, postForm, textField } from "../components/forms.ts";
import type { Column } from "../components/lists.ts";
import { countUndelivered } from "../components/trouble-words.ts";
import type { Content, Html } from "../html.ts";
import type { CallbacksView } from "./callbacks-view.ts";

export const TICK_FIELD = "delivery";

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
export function readSeen(text: string): SeenDelivery | null {
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
