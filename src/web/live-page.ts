// Live pages: a stream of server-sent events that carries a fragment whenever what it shows has changed. The page works
// without; htmx puts the fragments in place, and comes back by itself when a stream ends. Here: the element that listens,
// the pieces that are sent, and the stream between them.

import { EventStreams, STREAM_HEADERS, type StreamDeps } from "../server-sent-events.ts";
import { keepLanguage } from "./numbers.ts";
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

const LOOK_MS = 1_000;
/** A twentieth of the connections the server takes. */
export const MAX_STREAMS = 100;
/** A browser has six connections to a service: two are left to load pages with. Tabs in the background close theirs. */
export const MAX_STREAMS_A_PERSON = 4;
/** htmx alone would wait up to a minute longer each time it finds nobody: a service that is back is to be seen. */
const LONGEST_PAUSE_MS = 5_000;

/** The page says "Live" when it hears this, and not before. */
const OPENED = "event: opened\ndata:\n\n";
/** The page says that it is not live, and asks again later. An error status would do the same, and fill the browser's log. */
const FULL = "event: full\ndata:\n\n";
/** For good: the page closes its stream when it hears this (hx-sse:close). */
const ENDED = "event: ended\ndata:\n\n";

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

export function createLiveStreams(deps: StreamDeps): EventStreams {
	const bounds = { maxStreams: MAX_STREAMS, maxStreamsOfOne: MAX_STREAMS_A_PERSON };
	return new EventStreams(deps, { ...bounds, lookMs: LOOK_MS, what: "a live page" });
}

export interface LiveSource {
	/** Another text whenever the fragment would be another; cheap, because it is asked every second. */
	fingerprint(): Promise<string>;
	render(): Promise<string>;
	/** Asked before anything is sent: whoever signed out or lost the programme sees nothing more. */
	isAllowed(): Promise<boolean>;
	/** Told when there is a place for it. */
	onOpened?(): void;
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
	const inItsLanguage = keepLanguage();
	const render = () => inItsLanguage(() => source.render());
	const onOpened = () => void c.env?.outgoing?.emit("takesLong");
	return openLive(deps.streams, viewerOf(c).personId, { ...source, render, isAllowed, onOpened }, seen);
}

/** `seen`: the fingerprint of what the page already shows. */
export function openLive(
	streams: EventStreams,
	personId: number,
	source: LiveSource,
	seen: string | undefined,
): Response {
	let shown = seen;
	const opened = streams.answer(personId, {
		opening: OPENED,
		async look() {
			const found = await source.fingerprint();
			if (found === shown) return null;
			return {
				hasMore: false,
				async compose() {
					const fragment = await source.render();
					shown = found;
					return `id: ${found}\n${fragment.replaceAll("\r", "").replace(/^/gm, "data: ")}\n\n`;
				},
			};
		},
		isAllowed: () => source.isAllowed(),
		farewell: ENDED,
		heartbeat: () => ": still here\n\n",
	});
	if (opened !== undefined) source.onOpened?.();
	return opened ?? new Response(FULL, { headers: STREAM_HEADERS });
}

/** Whoever may not watch hears at once that it is over: another answer would make the page ask for ever. */
export function answerEnded(): Response {
	return new Response(ENDED, { headers: STREAM_HEADERS });
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
