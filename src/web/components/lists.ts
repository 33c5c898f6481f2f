// Long lists: a table that scrolls by itself when narrow, a bar of filters, and pages by cursor.

import { html } from "hono/html";
import { attrs, type Content, type Html } from "../html.ts";
import { emptyState } from "./blocks.ts";

/** A column by which a list can be sorted: how it is now, and where its heading leads. */
export interface SortedColumn {
	/** Null when the list is sorted by something else. */
	direction: "asc" | "desc" | null;
	href: string;
}

export interface Column<Row> {
	title: Content;
	sorted?: SortedColumn;
	/** For a column of controls: read out, not shown. */
	isTitleHidden?: boolean;
	isNumber?: boolean;
	/** What the row is about: where rows are stacked it comes first, and needs no title. */
	namesRow?: boolean;
	cell(row: Row): Content;
}

export function dataTable<Row>(table: {
	/** Read out before the table. */
	caption: string;
	columns: readonly Column<Row>[];
	rows: readonly Row[];
	empty: Content;
	rowId?(row: Row): string;
	/**
	 * On a phone a row is a small card, each cell beside its column's title, and nothing is out of sight. "tight": with as
	 * many cells side by side as there is room for, where the rows are many and what they say is short.
	 */
	stacks?: boolean | "tight";
}): Html {
	if (table.rows.length === 0) return html`${table.empty}`;
	const stacks = table.stacks === true || table.stacks === "tight";
	// `display: block` removes table semantics in some browsers; explicit roles keep them.
	const role = (name: string) => (stacks ? html` role="${name}"` : null);
	return html`<div class="table-scroll" tabindex="0" role="region" aria-label="${table.caption}"><table${attrs(
		{
			class: [stacks && "stacks", table.stacks === "tight" && "stacks-tight"],
		},
	)}${role("table")}>
	<caption class="visually-hidden">${table.caption}</caption>
	<thead${role("rowgroup")}><tr${role("row")}>${table.columns.map(
		({ title, isNumber, isTitleHidden, sorted }) =>
			html`<th scope="col" class="${isNumber === true ? "number" : ""}"${role("columnheader")}${sortState(sorted)}>${
				isTitleHidden === true ? html`<span class="visually-hidden">${title}</span>` : heading(title, sorted)
			}</th>`,
	)}</tr></thead>
	<tbody${role("rowgroup")}>${table.rows.map(
		(row) =>
			html`<tr${table.rowId === undefined ? null : html` id="${table.rowId(row)}"`}${role("row")}>${table.columns.map(
				(column) =>
					html`<td class="${cellClass(column)}"${role("cell")}${stacks ? stackedTitle(column) : null}>${column.cell(row)}</td>`,
			)}</tr>`,
	)}</tbody>
</table></div>`;
}

function sortState(sorted: SortedColumn | undefined): Html | null {
	if (sorted?.direction === undefined || sorted.direction === null) return null;
	return html` aria-sort="${sorted.direction === "asc" ? "ascending" : "descending"}"`;
}

function heading(title: Content, sorted: SortedColumn | undefined): Content {
	return sorted === undefined ? title : html`<a class="sort-link" href="${sorted.href}">${title}</a>`;
}

function cellClass<Row>({ isNumber, namesRow }: Column<Row>): string {
	return [isNumber === true ? "number" : "", namesRow === true ? "names-row" : ""].join(" ").trim();
}

/** Read by the style sheet alone: whoever listens has the column's own title. */
function stackedTitle<Row>({ title, isTitleHidden, namesRow }: Column<Row>): Html | null {
	const isShown = typeof title === "string" && isTitleHidden !== true && namesRow !== true;
	return isShown ? html` data-label="${title}"` : null;
}

/** A GET form: filters are part of the address, so that they can be shared and gone back to. */
export function filterBar(bar: {
	action: string;
	label: string;
	/** Always there: the search. */
	search?: Content;
	/** Beside a search, folded away on narrow screens: they would fill one before the first row. */
	fields: Content;
	clearHref?: string;
}): Html {
	const isOpen = bar.clearHref !== undefined;
	const fold =
		bar.search === undefined
			? null
			: html`<label class="filter-fold"><input type="checkbox" ${isOpen ? html`checked` : null}> More filters</label>`;
	return html`<form method="get" action="${bar.action}" class="filter-bar" role="search" aria-label="${bar.label}">${bar.search}${fold}${bar.fields}
	<div class="row"><button type="submit" class="button">Apply filters</button>${
		bar.clearHref === undefined
			? null
			: html`<a class="button button-quiet" href="${bar.clearHref}">Clear</a>`
	}</div></form>`;
}

/** In place of the rows where a filter is not understood: the whole list would be taken for the answer. */
export function notUnderstood(text: Content, action?: Content): Html {
	return emptyState({ title: "This filter is not understood", text, action });
}

export interface Pages {
	newestHref: string | null;
	olderHref: string | null;
	/** What this page shows, in words. */
	shown: string;
}

/** The links of a list that does not fit onto one page. One that is read from its beginning has its own words. */
export function pager(
	{ newestHref, olderHref, shown }: Pages,
	[newest, older]: readonly [string, string] = ["Newest", "Older"],
): Html | null {
	if (newestHref === null && olderHref === null) return null;
	return html`<nav class="pager" aria-label="Pages"><span class="small faint">${shown}</span><span class="row">${
		newestHref === null ? null : html`<a class="button button-small" href="${newestHref}">${newest}</a>`
	}${
		olderHref === null
			? null
			: html`<a class="button button-small" href="${olderHref}" rel="next">${older}</a>`
	}</span></nav>`;
}
