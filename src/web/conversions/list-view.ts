// A list of conversions to decide about, as Conversions and Review both show it: filters above, what they find in all, a
// row each with a box to tick, a bar that stays in sight with what is ticked and the buttons that decide, and pages.

import { html } from "hono/html";
import * as z from "zod";
import type { Conversion } from "../../store/conversions.ts";
import type { ListPage, PageRequest } from "../../store/list-page.ts";
import { pageHeader } from "../components/blocks.ts";
import { type CameFrom, orderCell, statusCell } from "../components/conversion-cells.ts";
import {
	type DecisionBar,
	decisionBar,
	type RefusedDecision,
	refusalMessage,
} from "../components/decision-bar.ts";
import { linkButton, postForm } from "../components/forms.ts";
import { type Column, dataTable, filterBar, notUnderstood, pager } from "../components/lists.ts";
import { orderSearch } from "../components/order-search.ts";
import { amount, count, thousands, timeTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { PageDeps } from "../deps.ts";
import type { Area } from "../document.ts";
import type { WebContext } from "../env.ts";
import { cursorOf, type PagedList, pagesOf, type ReadFilters } from "../filter-query.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { withQuery } from "../paths.ts";
import { type Totals, testWords, totalsLine } from "./totals.ts";

/** Two screens: enough to decide about, quick to read. */
const PAGE_ROWS = 50;
/** As many as a page shows, and some. */
const MAX_SELECTED = 200;

/** What the form around the rows sends. */
export const SELECTION_FORM = z.object({
	reason: z.string().catch(""),
	/** The filters of the list it comes from. */
	back: z.string().optional().catch(undefined),
	/** Everything that they find, ticked or not. */
	all: z.literal("yes").optional().catch(undefined),
	conversion: z.union([z.string().transform((id) => [id]), z.array(z.string()).max(MAX_SELECTED)]).catch([]),
});

export interface ConversionListView {
	area: Area;
	title: string;
	hint: string;
	/** Beside the title. */
	actions?: Content;
	list: PagedList;
	filters: ReadFilters<{ orderId?: string | undefined }>;
	/** Besides the search for an order. */
	filterFields: Content;
	read(page: PageRequest): Promise<ListPage<Conversion>>;
	totals(): Promise<Totals>;
	caption: string;
	/** Of the links to the first page and to the next. */
	pageWords: readonly [string, string];
	table(rows: readonly Conversion[]): Promise<ConversionTable>;
	/** Where the ticked rows are sent, and which buttons send them. */
	decidePath: string;
	bar: Omit<DecisionBar, "refused">;
	/** Whether everything that the filters find can be decided at once. */
	offersAll: boolean;
	/** Instead of the rows: `isPartial` when there may be some further on. */
	empty(isPartial: boolean): Html;
	/** The button that leads back to the list without filters. */
	allLabel: string;
	refused: RefusedDecision | undefined;
}

export interface ConversionTable {
	/** Besides the boxes to tick. */
	columns: readonly Column<Conversion>[];
	/** For those who hear a box without its row. */
	rowName(row: Conversion): string;
}

export const LIST_COLUMNS = {
	status: { title: "Status", cell: statusCell },
	basket: { title: "Basket", isNumber: true, cell: (row) => amount(row.basket_value, row.currency) },
	commission: { title: "Commission", isNumber: true, cell: (row) => amount(row.commission, row.currency) },
	fee: { title: "Fee", isNumber: true, cell: (row) => amount(row.network_fee, row.currency) },
	sold: { title: "Sold", cell: (row) => timeTag(row.occurred_at_ms) },
	recorded: { title: "Recorded", cell: (row) => timeTag(row.created_at_ms) },
} as const satisfies Readonly<Record<string, Column<Conversion>>>;

export function orderColumn(programmeIdOf: (row: Conversion) => string, from: CameFrom): Column<Conversion> {
	return { title: "Order", namesRow: true, cell: (row) => orderCell(row, programmeIdOf(row), from) };
}

export async function answerConversionList(
	c: WebContext,
	deps: PageDeps,
	view: ConversionListView,
): Promise<Response> {
	const isUnderstood = Object.keys(view.filters.problems).length === 0;
	const page = isUnderstood ? await view.read({ after: cursorOf(deps, view.list), limit: PAGE_ROWS }) : null;
	const header = pageHeader(view);
	const rows = page === null ? nothingListed(view) : await renderPage(c, deps, view, page);
	return answerPage(c, {
		title: view.title,
		active: view.area,
		status: view.refused?.fault.httpStatus ?? (isUnderstood ? 200 : 422),
		body: html`${header}${refusalMessage(view.refused)}<div class="card"><h2 class="visually-hidden">The list</h2>${filterForm(view)}${rows}</div>`,
	});
}

function filterForm({ list, filters: { typed, problems }, filterFields }: ConversionListView): Html {
	// The days' time zone is no filter by itself.
	const isSet = Object.keys(typed).some((name) => ![list.cursorName, "zone", "sort"].includes(name));
	return filterBar({
		action: list.path,
		label: "Filter conversions",
		search: orderSearch({ name: "orderId", value: typed["orderId"] ?? "", error: problems["orderId"] }),
		fields: filterFields,
		...(isSet ? { clearHref: list.path } : {}),
	});
}

function nothingListed({ list, allLabel }: ConversionListView): Html {
	return notUnderstood(
		"Correct the field marked above. Nothing is listed until then.",
		linkButton({ label: allLabel, href: list.path }),
	);
}

async function renderPage(
	c: WebContext,
	deps: PageDeps,
	view: ConversionListView,
	page: ListPage<Conversion>,
): Promise<Html> {
	const { rows, isPartial } = page;
	const shown = isPartial
		? `${rows.length} found so far. Go on to look further.`
		: `${rows.length} on this page`;
	const pages = pager(pagesOf(deps, view.list, page, shown), view.pageWords);
	if (rows.length === 0) return html`${view.empty(isPartial)}${pages}`;
	const totals = await view.totals();
	return html`${totalsLine(totals)}${await renderRows(c, view, rows, totals, pages)}`;
}

async function renderRows(
	c: WebContext,
	view: ConversionListView,
	rows: readonly Conversion[],
	totals: Totals,
	pages: Content,
): Promise<Html> {
	const { list, refused } = view;
	const { columns, rowName } = await view.table(rows);
	const table = (select: readonly Column<Conversion>[]) =>
		dataTable({
			caption: view.caption,
			columns: [...select, ...columns],
			rows,
			empty: null,
			stacks: true,
		});
	// Whoever may decide nothing has nothing to tick.
	if (view.bar.moves.length === 0) return html`${table([])}${pages}`;
	const all =
		view.offersAll && (totals.count > rows.length || !totals.isAll) ? allBox(totals, refused) : null;
	return postForm({
		action: view.decidePath,
		csrf: csrfField(c),
		className: "list-form",
		body: html`<input type="hidden" name="back" value="${withQuery("", list.query)}">${table([
			selectColumn(rowName, refused?.ticked),
		])}${pages}<div class="selection-bar"><div class="selection"><p data-selection role="status">Select conversions, then choose what to do.</p>${all}</div>${decisionBar(
			{ ...view.bar, refused },
		)}</div>`,
	});
}

/** Also without scripts: what is ticked besides does not matter then. */
function allBox(totals: Totals, refused: RefusedDecision | undefined): Html {
	const words = totals.isAll ? `all ${count(totals.count)} that match` : "all that match";
	const sums = totals.sums.map(({ basket, currency }) => `${thousands(basket)} ${currency}`);
	const all = `${totals.isAll ? `All ${count(totals.count)}` : "All"} that match`;
	const data = [all, ...sums, ...(totals.isAll ? testWords(totals.tests) : [])].join(" · ");
	return html`<label class="check"><input type="checkbox" name="all" value="yes" data-all-matching="${data}"${
		refused?.isAll === true ? html` checked` : null
	}><span>Select ${words} the filters</span></label>`;
}

/** Boxes to tick, with one above that ticks them all. That one needs scripts, and shows only with them. */
function selectColumn(
	rowName: (row: Conversion) => string,
	/** Ticked before, on a form that was refused. */
	ticked: readonly string[] = [],
): Column<Conversion> {
	return {
		title: html`<input type="checkbox" hidden data-select-all="conversion" aria-label="Select all on this page"><span class="visually-hidden">Select</span>`,
		cell: (row) =>
			html`<input type="checkbox" name="conversion" value="${row.public_id}" data-basket="${row.basket_value}" data-currency="${row.currency}"${row.test === 1 ? html` data-test` : null} aria-label="Select ${rowName(row)}"${ticked.includes(row.public_id) ? html` checked` : null}>`,
	};
}
