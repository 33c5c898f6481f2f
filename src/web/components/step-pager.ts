// Pages of a list that is read from its beginning: the first, and the next.

import { html } from "hono/html";
import type { Html } from "../html.ts";

export function stepPager(pages: {
	firstHref: string | null;
	nextHref: string | null;
	shown: string;
}): Html | null {
	if (pages.firstHref === null && pages.nextHref === null) return null;
	return html`<nav class="pager" aria-label="Pages"><span class="small faint">${pages.shown}</span><span class="row">${
		pages.firstHref === null ? null : html`<a class="button button-small" href="${pages.firstHref}">First</a>`
	}${pages.nextHref === null ? null : html`<a class="button button-small" href="${pages.nextHref}" rel="next">Next</a>`}</span></nav>`;
}
