// The two ends of a live page in markup: the element that listens, and a piece that says where it goes.

import { html } from "hono/html";
import type { Content, Html } from "../html.ts";

/** htmx alone would wait up to a minute longer each time it finds nobody: a service that is back is to be seen. */
const LONGEST_PAUSE_MS = 5_000;

/** The element itself stays empty: every message holds partials. "reopen" comes from assets/page.js. "ended" closes the stream for good. */
export function liveConnector(url: string): Html {
	return html`<div hidden hx-sse:connect="${url}" hx-trigger="load, reopen" hx-sse:close="ended" hx-config="sse.reconnectMaxDelay:${LONGEST_PAUSE_MS}" hx-swap="none"></div>`;
}

/** Says nothing until assets/page.js knows whether the stream is open. */
export function liveDot(): Html {
	return html`<span class="live-dot" role="status" hidden></span>`;
}

export function partial(target: string, content: Content): Html {
	return html`<hx-partial hx-target="#${target}" hx-swap="innerMorph">${content}</hx-partial>`;
}
