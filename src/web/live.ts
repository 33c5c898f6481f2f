// Live pages: a stream of server-sent events that carries a fragment whenever what it shows has changed. The
// page works without; htmx puts the fragments in place, and comes back by itself when a stream ends.

import type { Clock, Log } from "../ports.ts";

export interface LiveSource {
	/** Another text whenever the fragment would be another; cheap, because it is asked every second. */
	fingerprint(): Promise<string>;
	render(): Promise<string>;
	/** Asked before anything is sent: whoever signed out or lost the programme sees nothing more. */
	isAllowed(): Promise<boolean>;
}

export interface LiveDeps {
	clock: Clock;
	log: Log;
	/** Aborted when the service stops: a clean stop waits for nobody who is only watching. */
	stopSignal?: AbortSignal | undefined;
}

const LOOK_MS = 1_000;
/** Proxies close what is silent for half a minute or more. */
const HEARTBEAT_MS = 15_000;
/** Then the client comes back with a new request, and whatever has changed about its rights is seen. */
const LIFETIME_MS = 15 * 60_000;
/** A twentieth of the connections the server takes. */
export const MAX_STREAMS = 100;
/** Tabs in the background close theirs. */
export const MAX_STREAMS_A_PERSON = 6;
/** All streams together take a quarter of the time at most: looking must not slow the callbacks down. */
const REST_FACTOR = 3;
/** Fragments waiting for a client that does not read them. */
const MAX_UNREAD = 8;

const HEADERS = {
	"content-type": "text/event-stream; charset=utf-8",
	"cache-control": "no-store",
	// nginx would otherwise collect the events.
	"x-accel-buffering": "no",
};

export class LiveStreams {
	readonly #deps: LiveDeps;
	readonly #open = new Set<Stream>();

	constructor(deps: LiveDeps) {
		this.#deps = deps;
		deps.stopSignal?.addEventListener("abort", () => {
			for (const stream of [...this.#open]) stream.end();
		});
	}

	get openCount(): number {
		return this.#open.size;
	}

	/** `seen`: the fingerprint of what the page already shows. */
	answer(personId: number, source: LiveSource, seen: string | undefined): Response {
		const ofPerson = [...this.#open].filter((stream) => stream.personId === personId).length;
		const isFull = this.#open.size >= MAX_STREAMS || ofPerson >= MAX_STREAMS_A_PERSON;
		if (isFull || this.#deps.stopSignal?.aborted === true) {
			// The page stays as it is; a reload shows what is new.
			return new Response(null, { status: 503, headers: { "hx-reswap": "none", "retry-after": "60" } });
		}
		const stream = new Stream(this.#deps, personId, source, seen, this.#open);
		this.#open.add(stream);
		return new Response(stream.body, { headers: HEADERS });
	}
}

class Stream {
	readonly personId: number;
	readonly body: ReadableStream<Uint8Array>;
	readonly #deps: LiveDeps;
	readonly #source: LiveSource;
	readonly #open: Set<Stream>;
	readonly #endsAtMs: number;
	readonly #encoder = new TextEncoder();
	#seen: string | undefined;
	#sentAtMs: number;
	#controller: ReadableStreamDefaultController<Uint8Array> | undefined;
	#cancelTimer: () => void = () => undefined;
	#hasEnded = false;

	constructor(
		deps: LiveDeps,
		personId: number,
		source: LiveSource,
		seen: string | undefined,
		open: Set<Stream>,
	) {
		this.#deps = deps;
		this.personId = personId;
		this.#source = source;
		this.#seen = seen;
		this.#open = open;
		this.#sentAtMs = deps.clock.nowMs();
		this.#endsAtMs = this.#sentAtMs + LIFETIME_MS;
		this.body = new ReadableStream({
			start: (controller) => {
				this.#controller = controller;
				// So that headers go out at once, and a proxy sees that something comes.
				this.#send(": open\n\n");
				this.#lookLater(0);
			},
			cancel: () => this.#close(),
		});
	}

	/** The client comes back by itself. */
	end(): void {
		if (this.#hasEnded) return;
		this.#close();
		this.#controller?.close();
	}

	#close(): void {
		this.#hasEnded = true;
		this.#cancelTimer();
		this.#open.delete(this);
	}

	#lookLater(delayMs: number): void {
		if (!this.#hasEnded) this.#cancelTimer = this.#deps.clock.after(delayMs, () => void this.#look());
	}

	async #look(): Promise<void> {
		const { clock, log } = this.#deps;
		const startedAtMs = clock.nowMs();
		if (startedAtMs >= this.#endsAtMs) return this.end();
		try {
			await this.#sendChange();
		} catch (error) {
			// The database may be away: the client comes back, and finds it or not.
			log.warn({ err: error }, "a live page could not be read");
			return this.end();
		}
		const tookMs = clock.nowMs() - startedAtMs;
		this.#lookLater(Math.max(LOOK_MS, tookMs * this.#open.size * REST_FACTOR));
	}

	async #sendChange(): Promise<void> {
		const found = await this.#source.fingerprint();
		const isQuiet = found === this.#seen;
		if (isQuiet && this.#deps.clock.nowMs() - this.#sentAtMs < HEARTBEAT_MS) return;
		if (!(await this.#source.isAllowed())) {
			// For good: the page closes its stream when it hears this (hx-sse:close).
			this.#send("event: ended\ndata:\n\n");
			return this.end();
		}
		if (isQuiet) return this.#send(": still here\n\n");
		const fragment = await this.#source.render();
		this.#seen = found;
		this.#send(`id: ${found}\n${fragment.replaceAll("\r", "").replace(/^/gm, "data: ")}\n\n`);
	}

	#send(text: string): void {
		if (this.#hasEnded || this.#controller === undefined) return;
		if ((this.#controller.desiredSize ?? 0) < -MAX_UNREAD) {
			this.end();
			return;
		}
		this.#controller.enqueue(this.#encoder.encode(text));
		this.#sentAtMs = this.#deps.clock.nowMs();
	}
}
