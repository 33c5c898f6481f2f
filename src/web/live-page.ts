// A page that is kept up to date: the element that listens, the pieces that are sent, and the stream between them.

import type { LiveSource } from "./live.ts";
import {
	findProgrammeFor,
	loadViewer,
	type PageDeps,
	programmeOf,
	standingOf,
	viewerOf,
	type WebContext,
	type WebDeps,
} from "./page.ts";
import { type Content, type Html, html } from "./ui.ts";

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

/** The stream of a page below a programme. */
export function answerStream(
	c: WebContext,
	deps: PageDeps,
	source: Pick<LiveSource, "fingerprint" | "render">,
): Response {
	// A client that comes back says what it saw last; the first time the page's address says it.
	const seen = c.req.header("last-event-id") ?? c.req.query("seen");
	const isAllowed = createStillAllowed(c, deps);
	return deps.streams.answer(viewerOf(c).personId, { ...source, isAllowed }, seen);
}

/**
 * Whether somebody who is watching may still see the programme, as who they were when the page was opened: asked again
 * before anything is sent. With another role they would be sent buttons that are not theirs.
 */
export function createStillAllowed(
	c: WebContext,
	deps: Pick<WebDeps, "auth" | "store" | "staffAuthenticator">,
): () => Promise<boolean> {
	const visitor = c.get("visitor");
	const programme = programmeOf(c);
	const standing = standingOf(c);
	return async () => {
		const found = await deps.auth.findSession(visitor);
		const viewer = found === null ? null : await loadViewer(deps, found.session);
		if (viewer === null || viewer.awaitsAuthenticator) return false;
		const seen = await findProgrammeFor(deps.store.db, viewer, programme.public_id);
		return seen?.standing === standing;
	};
}
