// The page "Conversions": every sale of a programme, what became of it, and the buttons to decide.

import { html } from "hono/html";
import { type ConversionsPage, listConversionsPage } from "../../conversions/list.ts";
import { EVENT_TYPES, STATUSES } from "../../domain/conversion.ts";
import type { Conversion } from "../../store/conversions.ts";
import type { Programme } from "../../store/programmes.ts";
import { emptyState, pageHeader } from "../components/blocks.ts";
import { orderCell, statusCell } from "../components/conversion-cells.ts";
import { STATUS_WORDS, titleCase } from "../components/conversion-words.ts";
import { decisionBar } from "../components/decision-bar.ts";
import { linkButton, postForm, selectField, textField } from "../components/forms.ts";
import { type Column, dataTable, filterBar, pager } from "../components/lists.ts";
import { selectColumn } from "../components/select-column.ts";
import { amount, timeTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebContext } from "../env.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { frameProgramme } from "../programme-frame.ts";
import { programmeOf, viewerOf } from "../viewer.ts";
import type { ConversionPagesDeps } from "./deps.ts";
import {
	isFiltered,
	type ListQuery,
	parseListQuery,
	toConversionsQuery,
	writeListQuery,
} from "./list-query.ts";
import { movesFor } from "./moves-for.ts";

/** Two screens: enough to decide about, quick to read. */
const PAGE_ROWS = 50;

export async function answerList(c: WebContext, { store }: ConversionPagesDeps): Promise<Response> {
	const programme = programmeOf(c);
	const query = parseListQuery(new URL(c.req.url).search);
	const page = await listConversionsPage(store.db, programme, toConversionsQuery(query), PAGE_ROWS);
	return answerPage(c, {
		title: "Conversions",
		active: "conversions",
		programme: await frameProgramme(store.db, programme),
		body: renderList(programme, query, page, viewerOf(c).role, csrfField(c)),
	});
}

function renderList(
	programme: Programme,
	query: ListQuery,
	page: ConversionsPage,
	role: "owner" | "staff",
	csrf: Html,
): Html {
	const base = `/programmes/${programme.public_id}/conversions`;
	const header = pageHeader({
		title: "Conversions",
		hint: "Every sale that was reported, and what became of it.",
		actions: [
			linkButton({ label: "Decide by CSV", href: `${base}/bulk` }),
			linkButton({
				label: "Export CSV",
				href: `${base}/export.csv${writeListQuery(query, { cursor: undefined })}`,
			}),
		],
	});
	return html`${header}<div class="card"><h2 class="visually-hidden">The list</h2>${renderFilters(base, query)}${
		page.rows.length === 0
			? renderEmpty(programme, base, query, page)
			: renderRows(programme, query, page, role, csrf)
	}${pager({
		newestHref: query.cursor === undefined ? null : `${base}${writeListQuery(query, { cursor: undefined })}`,
		olderHref:
			page.nextCursor === null ? null : `${base}${writeListQuery(query, { cursor: page.nextCursor })}`,
		shown: page.isPartial
			? `${page.rows.length} found so far. Go on to look further.`
			: `${page.rows.length} on this page`,
	})}</div>`;
}

function renderRows(
	programme: Programme,
	query: ListQuery,
	page: ConversionsPage,
	role: "owner" | "staff",
	csrf: Html,
): Html {
	const base = `/programmes/${programme.public_id}/conversions`;
	return postForm({
		action: `${base}/decide`,
		csrf,
		className: "list-form",
		body: html`<input type="hidden" name="back" value="${writeListQuery(query)}">${decisionBar({
			moves: movesFor(role),
			what: "the selected conversions",
			asks: false,
		})}${dataTable({
			caption: "Conversions, the newest first",
			columns: columnsFor(programme),
			rows: page.rows,
			empty: null,
		})}`,
	});
}

function columnsFor(programme: Programme): readonly Column<Conversion>[] {
	return [
		selectColumn<Conversion>({
			name: "conversion",
			value: (row) => row.public_id,
			label: (row) => `Select order ${row.order_id}`,
		}),
		{ title: "Order", cell: (row) => orderCell(row, programme.public_id) },
		{ title: "Status", cell: statusCell },
		{ title: "Basket", isNumber: true, cell: (row) => amount(row.basket_value, row.currency) },
		{ title: "Commission", isNumber: true, cell: (row) => amount(row.commission, row.currency) },
		{ title: "Fee", isNumber: true, cell: (row) => amount(row.network_fee, row.currency) },
		{ title: "Recorded", cell: (row) => timeTag(row.created_at_ms) },
	];
}

function renderFilters(base: string, query: ListQuery): Html {
	const anything = { value: "", label: "Any" };
	const search = html`<div class="field-search">${textField({
		name: "orderId",
		label: "Order id",
		type: "search",
		value: query.orderId ?? "",
		placeholder: "All of it, or how it starts",
		isMono: true,
	})}</div>`;
	const fields = [
		selectField({
			name: "status",
			label: "Status",
			value: query.status ?? "",
			options: [anything, ...STATUSES.map((value) => ({ value, label: STATUS_WORDS[value] }))],
		}),
		selectField({
			name: "eventType",
			label: "Event type",
			value: query.eventType ?? "",
			options: [anything, ...EVENT_TYPES.map((value) => ({ value, label: titleCase(value) }))],
		}),
		selectField({
			name: "test",
			label: "Test",
			value: query.test ?? "",
			options: [anything, { value: "no", label: "Real ones" }, { value: "yes", label: "Tests" }],
		}),
		textField({ name: "from", label: "From (UTC)", type: "date", value: query.from ?? "" }),
		textField({ name: "to", label: "To (UTC)", type: "date", value: query.to ?? "" }),
	];
	return filterBar({
		action: base,
		label: "Filter conversions",
		search,
		fields,
		...(isFiltered(query) ? { clearHref: base } : {}),
	});
}

function renderEmpty(programme: Programme, base: string, query: ListQuery, page: ConversionsPage): Content {
	if (page.isPartial) {
		return emptyState({
			title: "None among these orders",
			text: "Many orders start like this. Look further, or type more of the order id.",
		});
	}
	if (isFiltered(query) || query.cursor !== undefined) {
		return emptyState({
			title: "No conversion matches",
			text: "Check the order id, or take a filter away. Whatever came in and was refused is in the inbound log on Integration.",
			action: linkButton({ label: "Show all conversions", href: base }),
		});
	}
	return emptyState({
		title: "No conversions yet",
		text: "Issue an API key on Integration, then send a test conversion or your first postback. It shows here at once.",
		action: linkButton({
			label: "Go to Integration",
			tone: "primary",
			href: `/programmes/${programme.public_id}/integration`,
		}),
	});
}
