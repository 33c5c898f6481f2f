// "Postbacks sent to your shop": a row a delivery, with filter, search and pages by cursor, boxes to tick and what can be
// done with them. The table alone is pushed when something changes; the filter above it and the time below it stay under
// the reader's fingers.

import { html } from "hono/html";
import type { ListedDelivery } from "../../store/delivery-list.ts";
import type { ListPage } from "../../store/list-page.ts";
import { emptyState, more, padded, section } from "../components/blocks.ts";
import {
	attemptCount,
	EVENT_OPTIONS,
	lastAnswer,
	nextAttempt,
	resentMark,
	STATE_OPTIONS,
	stateBadge,
} from "../components/delivery-words.ts";
import { selectField } from "../components/forms.ts";
import { type Column, dataTable, filterBar, notUnderstood, pager } from "../components/lists.ts";
import { wholeOrderSearch } from "../components/order-search.ts";
import { badge, timeTag } from "../components/text.ts";
import type { ReadFilters } from "../filter-query.ts";
import type { Content, Html } from "../html.ts";
import { liveDot } from "../live-page.ts";
import { deliveryPath, withQuery } from "../paths.ts";
import type { CallbacksView, DeliveriesQuery } from "./callbacks-view.ts";
import { listForm, sinceForm, tickColumn } from "./resend-forms.ts";

export const DELIVERIES_TARGET = "deliveries-live";

export function deliveriesSection(view: CallbacksView): Html {
	return section({
		id: "deliveries",
		title: "Postbacks sent to your shop",
		hint: "One row per callback, with attempts and your server's last response.",
		...(view.deliveries.isLive ? { actions: liveDot() } : {}),
		told: view.told("deliveries"),
		body: html`${filterForm(view)}<div id="${DELIVERIES_TARGET}" aria-live="polite">${deliveriesTable(view)}</div>${
			view.canSend ? padded(more("Resend all failed callbacks since…", sinceForm(view))) : null
		}`,
	});
}

function filterForm({ path, deliveries: { filters } }: CallbacksView): Html {
	const { typed, problems } = filters;
	const field = (name: "state" | "event" | "order") => ({
		name,
		id: `delivery-${name}`,
		value: typed[name] ?? "",
		error: problems[name],
	});
	const isFiltered = isAnySet(typed);
	return filterBar({
		action: `${path}#deliveries`,
		label: "Filter the callbacks",
		fields: html`${selectField({
			...field("state"),
			label: "State",
			options: [{ value: "", label: "All states" }, ...STATE_OPTIONS],
		})}${selectField({
			...field("event"),
			label: "Event",
			options: [{ value: "", label: "All events" }, ...EVENT_OPTIONS],
		})}${wholeOrderSearch(field("order"))}`,
		...(isFiltered ? { clearHref: `${path}#deliveries` } : {}),
	});
}

function isAnySet({ state, event, order }: ReadFilters<DeliveriesQuery>["typed"]): boolean {
	return (state ?? event ?? order) !== undefined;
}

/** What is pushed. */
export function deliveriesTable(view: CallbacksView): Html {
	const { path, canSend } = view;
	const { listed } = view.deliveries;
	if (listed === null) {
		return notUnderstood(html`Correct it above, or <a href="${path}#deliveries">see all callbacks</a>.`);
	}
	const { rows } = listed.page;
	const table = dataTable<ListedDelivery>({
		caption: "Callbacks, one per row",
		rows,
		empty: emptyOf(view, listed.page),
		stacks: "tight",
		columns: canSend ? [tickColumn(), ...columns(view)] : columns(view),
	});
	return html`${canSend ? listForm(view, rows.length > 0, table) : table}${pager(listed.pages)}`;
}

function columns({ programme, nowMs, back }: CallbacksView): readonly Column<ListedDelivery>[] {
	return [
		{
			title: "Event",
			namesRow: true,
			cell: (row) =>
				html`<a href="${withQuery(deliveryPath(programme.public_id, row.publicId), { back })}">${row.event}</a>${
					row.test === 1 ? html` ${badge("info", "Test")}` : null
				}`,
		},
		{
			title: "Order",
			cell: (row) => html`<div class="mono cell-clip" title="${row.orderId}">${row.orderId}</div>`,
		},
		{ title: "State", cell: (row) => html`${stateBadge(row)} ${resentMark(row.run)}` },
		{ title: "Attempts", isNumber: true, cell: attemptCount },
		{ title: "Last HTTP status", isNumber: true, cell: lastAnswer },
		{ title: "Next attempt", cell: (row) => nextAttempt(row, nowMs) },
		{ title: "When", cell: (row) => timeTag(row.lastAttemptAtMs ?? row.createdAtMs) },
	];
}

function emptyOf(
	{ deliveries, url, mayIntegrate, goodAnswer }: CallbacksView,
	page: ListPage<ListedDelivery>,
): Content {
	const { query } = deliveries.filters;
	if (query.order !== undefined) {
		return emptyState({
			title: `Nothing was sent for order ${query.order}`,
			text: "Enter the whole order ID as your shop reported it. The inbound log shows whether we received it.",
		});
	}
	if (query.state !== undefined || query.event !== undefined || query.after !== undefined) {
		const text =
			page.next === null
				? "Choose another state or event, or clear the filter."
				: "None found so far. Choose “Older” to look further back.";
		return emptyState({ title: "No callback matches", text });
	}
	const title =
		goodAnswer === null ? "Nothing has been sent yet" : "Nothing has been sent to a Postback URL yet";
	if (!mayIntegrate) return emptyState({ title, text: "Callbacks appear here as they are sent." });
	return emptyState({
		title,
		text:
			url !== null
				? html`<a href="#test">Send a test conversion</a> and watch it arrive here.`
				: html`<a href="#callback">Save a Postback URL</a> first, then send a test conversion.`,
	});
}
