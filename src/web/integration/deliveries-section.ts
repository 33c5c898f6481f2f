// "Postbacks sent to your shop": a row a delivery, with filter, search and pages by cursor. The table alone is
// pushed when something changes; the filter above it stays under the reader's fingers.

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
import { button, postForm, selectField, textField } from "../components/forms.ts";
import { dataTable, filterBar, notUnderstood, pager } from "../components/lists.ts";
import { wholeOrderSearch } from "../components/order-search.ts";
import { badge, timeTag } from "../components/text.ts";
import type { ReadFilters } from "../filter-query.ts";
import type { Content, Html } from "../html.ts";
import { liveDot } from "../live-page.ts";
import { deliveryPath } from "../paths.ts";
import type { DeliveriesQuery, IntegrationView } from "./integration-view.ts";

export const DELIVERIES_TARGET = "deliveries-live";

export function deliveriesSection(view: IntegrationView): Html {
	const isFiltered = isAnySet(view.deliveries.filters.typed);
	return section({
		id: "deliveries",
		title: "Postbacks sent to your shop",
		hint: "One row per callback, with attempts and your server's last response.",
		told: view.told("deliveries"),
		...(view.deliveries.isLive ? { actions: liveDot() } : {}),
		body: html`${filterForm(view, isFiltered)}<div id="${DELIVERIES_TARGET}" aria-live="polite">${deliveriesTable(view)}</div>${
			isFiltered ? null : resendAll(view)
		}`,
	});
}

function isAnySet({ state, event, order }: ReadFilters<DeliveriesQuery>["typed"]): boolean {
	return (state ?? event ?? order) !== undefined;
}

function filterForm({ path, deliveries: { filters } }: IntegrationView, isFiltered: boolean): Html {
	const { typed, problems } = filters;
	const field = (name: "state" | "event" | "order") => ({
		name,
		id: `delivery-${name}`,
		value: typed[name] ?? "",
		error: problems[name],
	});
	return filterBar({
		action: `${path}#deliveries`,
		label: "Filter the postbacks",
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

/** What is pushed. */
export function deliveriesTable(view: IntegrationView): Html {
	const { programme, path, nowMs } = view;
	const { listed } = view.deliveries;
	if (listed === null) {
		return notUnderstood(html`Correct it above, or <a href="${path}#deliveries">see all postbacks</a>.`);
	}
	return html`${dataTable<ListedDelivery>({
		caption: "Callbacks, one per row",
		rows: listed.page.rows,
		empty: emptyOf(view, listed.page),
		stacks: true,
		columns: [
			{
				title: "Event",
				namesRow: true,
				cell: (row) =>
					html`<a href="${deliveryPath(programme.public_id, row.publicId)}">${row.event}</a>${
						row.test === 1 ? html` ${badge("info", "Test")}` : null
					}`,
			},
			{
				title: "Order",
				cell: (row) => html`<div class="mono cell-clip" title="${row.orderId}">${row.orderId}</div>`,
			},
			{ title: "State", cell: (row) => html`${stateBadge(row)} ${resentMark(row.run)}` },
			{ title: "Attempts", isNumber: true, cell: attemptCount },
			{
				title: "Last HTTP status",
				isNumber: true,
				cell: lastAnswer,
			},
			{ title: "Next attempt", cell: (row) => nextAttempt(row, nowMs) },
			{ title: "When", cell: (row) => timeTag(row.lastAttemptAtMs ?? row.createdAtMs) },
		],
	})}${pager(listed.pages)}`;
}

function emptyOf({ deliveries, url }: IntegrationView, page: ListPage<ListedDelivery>): Content {
	const { query } = deliveries.filters;
	if (query.order !== undefined) {
		return emptyState({
			title: `Nothing was sent for order ${query.order}`,
			text: "Enter the whole order id as your shop reported it. “Why is an order not here?” on the inbound log says more.",
		});
	}
	if (query.state !== undefined || query.event !== undefined || query.after !== undefined) {
		const text =
			page.next === null
				? "Choose another state or event, or clear the filter."
				: "None among those looked at so far: “Older” goes on from here.";
		return emptyState({ title: "No postback matches", text });
	}
	return emptyState({
		title: "Nothing has been sent yet",
		text:
			url !== null
				? html`<a href="#test">Send a test conversion</a> and watch it arrive here.`
				: html`<a href="#callback">Save a Postback URL</a> first, then send a test conversion.`,
	});
}

function resendAll({ path, hidden, url, mayIntegrate }: IntegrationView): Html | null {
	if (url === null || !mayIntegrate) return null;
	return padded(
		more(
			"Resend all failed callbacks since…",
			postForm({
				action: `${path}/resend-failed`,
				csrf: hidden,
				className: "row-end",
				body: html`${textField({
					name: "since",
					label: "Failed since (UTC)",
					type: "datetime-local",
					isRequired: true,
				})}${button({
					label: "Resend failed",
					confirm: "Send all callbacks again that failed since then? Your shop takes each event once.",
				})}`,
			}),
		),
	);
}
