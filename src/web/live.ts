// Live pages: a stream of server-sent events that carries a fragment whenever what it shows has changed. The
// page works without; htmx puts the fragments in place, and comes back by itself when a stream ends.

import { EventStreams, STREAM_HEADERS, type StreamDeps } from "../server-sent-events.ts";

export interface LiveSource {
	/** Another text whenever the fragment would be another; cheap, because it is asked every second. */
	fingerprint(): Promise<string>;
	render(): Promise<string>;
	/** Asked before anything is sent: whoever signed out or lost the programme sees nothing more. */
	isAllowed(): Promise<boolean>;
}

const LOOK_MS = 1_000;
/** A twentieth of the connections the server takes. */
export const MAX_STREAMS = 100;
/** A browser has six connections to a service: two are left to load pages with. Tabs in the background close theirs. */
export const MAX_STREAMS_A_PERSON = 4;

/** The page says "Live" when it hears this, and not before. */
const OPENED = "event: opened\ndata:\n\n";
/** The page says that it is not live, and asks again later. An error status would do the same, and fill the browser's log. */
const FULL = "event: full\ndata:\n\n";

/** For good: the page closes its stream when it hears this (hx-sse:close). */
const ENDED = "event: ended\ndata:\n\n";

/** Whoever may not watch hears at once that it is over: another answer would make the page ask for ever. */
export function answerEnded(): Response {
	return new Response(ENDED, { headers: STREAM_HEADERS });
}

export class LiveStreams {
	readonly #streams: EventStreams;

	constructor(deps: StreamDeps) {
		this.#streams = new EventStreams(deps, {
			maxStreams: MAX_STREAMS,
			maxStreamsOfOne: MAX_STREAMS_A_PERSON,
			lookMs: LOOK_MS,
			what: "a live page",
		});
	}

	get openCount(): number {
		return this.#streams.openCount;
	}

	/** `seen`: the fingerprint of what the page already shows. */
	answer(personId: number, source: LiveSource, seen: string | undefined): Response {
		let shown = seen;
		const opened = this.#streams.answer(personId, {
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
		return opened ?? new Response(FULL, { headers: STREAM_HEADERS });
	}
}
