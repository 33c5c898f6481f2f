// Streams of server-sent events: bounded in number, in age, and in what waits for a reader. Whoever is cut off
// comes back by itself, as such clients do.

import type { Clock, Log } from "./ports.ts";

export interface StreamSource {
	/** The first words: sent at once, so that headers go out and a proxy sees that something comes. */
	opening: string;
	/** Null while nothing is new. Cheap, because it is asked again and again. */
	look(): Promise<News | null>;
	/** Asked before anything is sent: whoever has lost the right to it sees nothing more. */
	isAllowed(): Promise<boolean>;
	/** Said instead, before the stream ends; may be empty. */
	farewell: string;
	/** What a stream says that has been silent for long. */
	heartbeat(): string;
	/** Closes the connection of a reader who takes nothing. Without it, its end is left to the network. */
	hangUp?(): void;
}

export interface News {
	/** May be empty, where there is nothing to say of it. */
	compose(): Promise<string>;
	/** There is more behind it: looked for as soon as this much was taken. */
	hasMore: boolean;
}

export interface StreamBounds {
	maxStreams: number;
	maxStreamsOfOne: number;
	/** Between two looks at what is new. */
	lookMs: number;
	/** For the log: what could not be read. */
	what: string;
}

export interface StreamDeps {
	clock: Clock;
	log: Log;
	/** Aborted when the service stops: a clean stop waits for nobody who is only watching. */
	stopSignal?: AbortSignal | undefined;
}

/** Proxies close what is silent for half a minute or more. */
const HEARTBEAT_MS = 15_000;
/** Then the client comes back with a new request, and whatever has changed about its rights is seen. */
const LIFETIME_MS = 15 * 60_000;
/** All streams together take a quarter of the time at most: looking must not slow the callbacks down. */
const REST_FACTOR = 3;
/** How long one message may wait for its reader. Nothing is read from the database meanwhile. */
const STALL_MS = 30_000;

export const STREAM_HEADERS = {
	"content-type": "text/event-stream; charset=utf-8",
	"cache-control": "no-store",
	// nginx would otherwise collect the events.
	"x-accel-buffering": "no",
};

export class EventStreams {
	readonly #deps: StreamDeps;
	readonly #bounds: StreamBounds;
	readonly #open = new Set<Stream>();

	constructor(deps: StreamDeps, bounds: StreamBounds) {
		this.#deps = deps;
		this.#bounds = bounds;
		deps.stopSignal?.addEventListener("abort", () => {
			for (const stream of [...this.#open]) stream.end();
		});
	}

	get openCount(): number {
		return this.#open.size;
	}

	/** `readerId`: whose streams are counted together. */
	hasRoom(readerId: number): boolean {
		const { maxStreams, maxStreamsOfOne } = this.#bounds;
		const ofOne = [...this.#open].filter((stream) => stream.readerId === readerId).length;
		const isStopping = this.#deps.stopSignal?.aborted === true;
		return !isStopping && this.#open.size < maxStreams && ofOne < maxStreamsOfOne;
	}

	/** Undefined where there is no room. */
	answer(readerId: number, source: StreamSource): Response | undefined {
		if (!this.hasRoom(readerId)) return undefined;
		const stream = new Stream(this.#deps, this.#bounds, readerId, source, this.#open);
		this.#open.add(stream);
		return new Response(stream.body, { headers: STREAM_HEADERS });
	}
}

class Stream {
	readonly readerId: number;
	readonly body: ReadableStream<Uint8Array>;
	readonly #deps: StreamDeps;
	readonly #bounds: StreamBounds;
	readonly #source: StreamSource;
	readonly #open: Set<Stream>;
	readonly #endsAtMs: number;
	readonly #encoder = new TextEncoder();
	#sentAtMs: number;
	#controller: ReadableStreamDefaultController<Uint8Array> | undefined;
	#cancelTimer: () => void = () => undefined;
	#isHeldUp = false;
	#hasEnded = false;

	constructor(
		deps: StreamDeps,
		bounds: StreamBounds,
		readerId: number,
		source: StreamSource,
		open: Set<Stream>,
	) {
		this.#deps = deps;
		this.#bounds = bounds;
		this.readerId = readerId;
		this.#source = source;
		this.#open = open;
		this.#sentAtMs = deps.clock.nowMs();
		this.#endsAtMs = this.#sentAtMs + LIFETIME_MS;
		this.body = new ReadableStream({
			start: (controller) => {
				this.#controller = controller;
				this.#send(source.opening);
				this.#lookLater(0);
			},
			pull: () => this.#goOn(),
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
		if (this.#isUnread) return this.#waitForReader(startedAtMs);
		let hasMore: boolean;
		try {
			hasMore = await this.#sendNews();
		} catch (error) {
			// The database may be away: the client comes back, and finds it or not.
			log.warn({ err: error }, `${this.#bounds.what} could not be read`);
			return this.end();
		}
		const restMs = (clock.nowMs() - startedAtMs) * this.#open.size * REST_FACTOR;
		this.#lookLater(hasMore ? restMs : Math.max(this.#bounds.lookMs, restMs));
	}

	async #sendNews(): Promise<boolean> {
		const news = await this.#source.look();
		const isSilentForLong = this.#deps.clock.nowMs() - this.#sentAtMs >= HEARTBEAT_MS;
		if (news === null && !isSilentForLong) return false;
		if (!(await this.#source.isAllowed())) {
			this.#send(this.#source.farewell);
			this.end();
			return false;
		}
		const text = (await news?.compose()) ?? "";
		this.#send(text === "" && isSilentForLong ? this.#source.heartbeat() : text);
		return news?.hasMore ?? false;
	}

	#send(text: string): void {
		if (this.#hasEnded || text === "") return;
		this.#controller?.enqueue(this.#encoder.encode(text));
		this.#sentAtMs = this.#deps.clock.nowMs();
	}

	get #isUnread(): boolean {
		return (this.#controller?.desiredSize ?? 1) <= 0;
	}

	/** What it would be sent is still there when it has taken this: a slow reader costs one message of memory. */
	#waitForReader(nowMs: number): void {
		const letGoAtMs = this.#sentAtMs + STALL_MS;
		if (nowMs >= letGoAtMs) {
			this.end();
			this.#source.hangUp?.();
			return;
		}
		this.#isHeldUp = true;
		this.#lookLater(Math.min(letGoAtMs, this.#endsAtMs) - nowMs);
	}

	#goOn(): void {
		if (!this.#isHeldUp) return;
		this.#isHeldUp = false;
		this.#cancelTimer();
		this.#lookLater(0);
	}
}
