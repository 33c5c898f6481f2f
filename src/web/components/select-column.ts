// A column of boxes to tick, with one above that ticks them all. That one needs scripts, and shows only with them.

import { html } from "hono/html";
import type { Column } from "./lists.ts";

export function selectColumn<Row>(of: {
	name: string;
	value(row: Row): string;
	label(row: Row): string;
	/** Ticked before, on a form that was refused. */
	ticked?: readonly string[];
}): Column<Row> {
	const ticked = new Set(of.ticked);
	return {
		title: html`<input type="checkbox" hidden data-select-all="${of.name}" aria-label="Select all on this page"><span class="visually-hidden">Select</span>`,
		cell: (row) =>
			html`<input type="checkbox" name="${of.name}" value="${of.value(row)}" aria-label="${of.label(row)}"${ticked.has(of.value(row)) ? html` checked` : null}>`,
	};
}
