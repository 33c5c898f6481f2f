// The two ends of a live page in markup: the element that listens, and a piece that says where it goes.

import { html } from "hono/html";
import type { Content, Html } from "../html.ts";

/** The element itself stays empty: every message holds partials. "ended" closes the stream for good. */
export function liveConnector(url: string): Html {
	return html`<div hidden hx-sse:connect="${url}" hx-sse:close="ended" hx-swap="none"></div>`;
}

export function partial(target: string, content: Content): Html {
	return html`<hx-partial hx-target="#${target}" hx-swap="innerMorph">${content}</hx-partial>`;
}
