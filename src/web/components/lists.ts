// Long lists: a table that scrolls by itself when narrow, a bar of filters, and pages by cursor.

import { html } from "hono/html";
import type { Content, Html } from "../html.ts";

export interface Column<Row> {
	title: Content;
	/** For a column of controls: read out, not shown. */
	isTitleHidden?: boolean;
	isNumber?: boolean;
	cell(row: Row): Content;
}

export function dataTable<Row>(table: {
	/** Read out before the table. */
	caption: string;
	columns: readonly Column<Row>[];
	rows: readonly Row[];
	empty: Content;
	rowId?(row: Row): string;
}): Html {
	if (table.rows.length === 0) return html`${table.empty}`;
	return html`<div class="table-scroll" tabindex="0" role="region" aria-label="${table.caption}"><table>
	<caption class="visually-hidden">${table.caption}</caption>
	<thead><tr>${table.columns.map(
		({ title, isNumber, isTitleHidden }) =>
			html`<th scope="col" class="${isNumber === true ? "number" : ""}">${
				isTitleHidden === true ? html`<span class="visually-hidden">${title}</span>` : title
			}</th>`,
	)}</tr></thead>
	<tbody>${table.rows.map(
		(row) =>
			html`<tr ${table.rowId === undefined ? null : html`id="${table.rowId(row)}"`}>${table.columns.map(
				({ cell, isNumber }) => html`<td class="${isNumber === true ? "number" : ""}">${cell(row)}</td>`,
			)}</tr>`,
	)}</tbody>
</table></div>`;
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
	<div class="row"><button type="submit" class="button">Show</button>${
		bar.clearHref === undefined
			? null
			: html`<a class="button button-quiet" href="${bar.clearHref}">Clear</a>`
	}</div></form>`;
}

export function pager(pages: {
	newestHref: string | null;
	olderHref: string | null;
	shown: string;
}): Html | null {
	if (pages.newestHref === null && pages.olderHref === null) return null;
	return html`<nav class="pager" aria-label="Pages"><span class="small faint">${pages.shown}</span><span class="row">${
		pages.newestHref === null
			? null
			: html`<a class="button button-small" href="${pages.newestHref}">Newest</a>`
	}${pages.olderHref === null ? null : html`<a class="button button-small" href="${pages.olderHref}" rel="next">Older</a>`}</span></nav>`;
}
