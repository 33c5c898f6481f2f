// The page "Conversions": every sale of a programme, what became of it, and the buttons to decide.

import { html } from "hono/html";
import { listConversions } from "../../store/conversion-list.ts";
import type { Conversion } from "../../store/conversions.ts";
import type { ListPage } from "../../store/list-page.ts";
import type { Programme } from "../../store/programmes.ts";
import { emptyState, pageHeader } from "../components/blocks.ts";
import { orderCell, statusCell } from "../components/conversion-cells.ts";
import { decisionBar, type RefusedDecision, refusalMessage } from "../components/decision-bar.ts";
import { linkButton, postForm } from "../components/forms.ts";
import { type Column, dataTable, type Pages, pager } from "../components/lists.ts";
import { selectColumn } from "../components/select-column.ts";
import { amount, timeTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebContext } from "../env.ts";
import { cursorOf, pagesOf, type ReadFilters } from "../filter-query.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { conversionsPath, integrationPath } from "../paths.ts";
import { programmeOf, viewerOf } from "../viewer.ts";
import type { ConversionPagesDeps } from "./deps.ts";
import { listFilters } from "./list-filters.ts";
import {
	isFiltered,
	type ListQuery,
	parseListQuery,
	toConversionFilter,
	writeListQuery,
} from "./list-query.ts";
import { movesFor } from "./moves-for.ts";

/** Two screens: enough to decide about, quick to read. */
const PAGE_ROWS = 50;

interface ListView {
	programme: Programme;
	filters: ReadFilters<ListQuery>;
	/** Null when a filter is not understood: nothing is listed then. */
	page: (ListPage<Conversion> & { links: Pages }) | null;
	role: "owner" | "staff";
	csrf: Html;
	refused: RefusedDecision | undefined;
}

export function showConversions(c: WebContext, deps: ConversionPagesDeps): Promise<Response> {
	return showListOf(c, deps, parseListQuery(new URL(c.req.url).search));
}

export async function showListOf(
	c: WebContext,
	deps: ConversionPagesDeps,
	filters: ReadFilters<ListQuery>,
	refused?: RefusedDecision,
): Promise<Response> {
	const programme = programmeOf(c);
	const isUnderstood = Object.keys(filters.problems).length === 0;
	const page = isUnderstood ? await readPage(deps, programme, filters.query) : null;
	return answerPage(c, {
		title: "Conversions",
		active: "conversions",
		status: refused?.fault.httpStatus ?? (isUnderstood ? 200 : 422),
		body: renderList({ programme, filters, page, role: viewerOf(c).role, csrf: csrfField(c), refused }),
	});
}

async function readPage(
	deps: ConversionPagesDeps,
	programme: Programme,
	query: ListQuery,
): Promise<ListView["page"]> {
	const list = {
		name: `conversions of programme:${programme.id}`,
		path: conversionsPath(programme.public_id),
		query,
		cursorName: "cursor",
	};
	const filter = toConversionFilter(programme.id, query);
	const page = await listConversions(deps.store.db, {
		...filter,
		after: cursorOf(deps, list),
		limit: PAGE_ROWS,
	});
	return { ...page, links: pagesOf(deps, list, page, describeShown(page)) };
}

function describeShown({ rows, isPartial }: ListPage<unknown>): string {
	return isPartial ? `${rows.length} found so far. Go on to look further.` : `${rows.length} on this page`;
}

function renderList(view: ListView): Html {
	const { programme, filters, page } = view;
	const { query } = filters;
	const base = conversionsPath(programme.public_id);
	const header = pageHeader({
		title: "Conversions",
		hint: "Every sale that was reported, and what became of it.",
		actions: [
			linkButton({ label: "Decide by CSV", href: `${base}/bulk` }),
			page === null
				? null
				: linkButton({
						label: "Export CSV",
						href: `${base}/export.csv${writeListQuery(query, { cursor: undefined })}`,
					}),
		],
	});
	return html`${header}${refusalMessage(view.refused)}<div class="card"><h2 class="visually-hidden">The list</h2>${listFilters(base, filters)}${
		page === null ? renderNotUnderstood(base) : renderPage(view, base, page)
	}</div>`;
}

function renderNotUnderstood(base: string): Html {
	return emptyState({
		title: "This filter is not understood",
		text: "Nothing is listed, so that nothing is taken for what you asked for. Correct the field marked above.",
		action: linkButton({ label: "Show all conversions", href: base }),
	});
}

function renderPage(view: ListView, base: string, page: NonNullable<ListView["page"]>): Html {
	const { query } = view.filters;
	return html`${
		page.rows.length === 0
			? renderEmpty(view.programme, base, query, page)
			: renderRows(view, base, page.rows)
	}${pager(page.links)}`;
}

function renderRows(view: ListView, base: string, rows: readonly Conversion[]): Html {
	return postForm({
		action: `${base}/decide`,
		csrf: view.csrf,
		className: "list-form",
		body: html`<input type="hidden" name="back" value="${writeListQuery(view.filters.query)}">${decisionBar({
			moves: movesFor(view.role),
			refused: view.refused,
		})}${dataTable({
			caption:
				view.filters.query.orderId === undefined
					? "Conversions, the newest first"
					: "Conversions by order id",
			columns: columnsFor(view.programme, view.refused?.ticked),
			rows,
			empty: null,
			stacks: true,
		})}`,
	});
}

function columnsFor(
	programme: Programme,
	ticked: readonly string[] | undefined,
): readonly Column<Conversion>[] {
	return [
		selectColumn<Conversion>({
			name: "conversion",
			value: (row) => row.public_id,
			label: (row) => `Select order ${row.order_id}`,
			...(ticked === undefined ? {} : { ticked }),
		}),
		{ title: "Order", namesRow: true, cell: (row) => orderCell(row, programme.public_id) },
		{ title: "Status", cell: statusCell },
		{ title: "Basket", isNumber: true, cell: (row) => amount(row.basket_value, row.currency) },
		{ title: "Commission", isNumber: true, cell: (row) => amount(row.commission, row.currency) },
		{ title: "Fee", isNumber: true, cell: (row) => amount(row.network_fee, row.currency) },
		{ title: "Recorded", cell: (row) => timeTag(row.created_at_ms) },
	];
}

function renderEmpty(programme: Programme, base: string, query: ListQuery, page: ListPage<unknown>): Content {
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
			href: integrationPath(programme.public_id),
		}),
	});
}
