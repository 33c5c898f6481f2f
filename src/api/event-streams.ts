// Streams of server-sent events: bounded in number, in age, and in what waits for a reader. Whoever is cut off
// comes back by itself, as such clients do.

import { MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import type { AppDeps } from "./deps.ts";

export interface StreamSource {
	/** The first words: sent at once, so that headers go out and a proxy sees that something comes. */
	opening: string;
	/** Null while nothing is new. Cheap, because it is asked again and again. */
	look(): Promise<News | null>;
	/** Asked before anything is sent: whoever has lost the right to it sees nothing more. */
	isAllowed(): Promise<boolean>;
	/** Told whenever it is allowed to go on: with whatever is sent, and at least as often as a heartbeat. */
	onAlive(): Promise<void>;
	/** Told when the reader has hung up. */
	onHungUp(): Promise<void>;
	/** What a stream says that has been silent for long. */
	heartbeat(): string;
	/** Closes the connection of a reader who takes nothing. */
	hangUp(): void;
}

export interface News {
	/** May be empty, where there is nothing to say of it. */
	compose(): Promise<string>;
	/** There is more behind it: looked for as soon as this much was taken. */
	hasMore: boolean;
}

type StreamDeps = Pick<AppDeps, "clock" | "log" | "stopSignal">;

/** For developers, of whom a shop has few; each stream costs a query every half second. */
export const MAX_STREAMS = 50;
export const MAX_STREAMS_A_PROGRAMME = 5;
/** Between two looks at what is new. */
const LOOK_MS = 500;
/** Proxies close what is silent for half a minute or more. */
const HEARTBEAT_MS = 15 * SECOND_MS;
/** Then the client comes back with a new request, and whatever has changed about its rights is seen. */
const LIFETIME_MS = 15 * MINUTE_MS;
/** All streams together take a quarter of the time at most: looking must not slow the callbacks down. */
const REST_FACTOR = 3;
/** How long one message may wait for its reader. Nothing is read from the database meanwhile. */
const STALL_MS = 30 * SECOND_MS;

const STREAM_HEADERS = {
	"content-type": "text/event-stream; charset=utf-8",
	"cache-control": "no-store",
	// nginx would otherwise collect the events.
	"x-accel-buffering": "no",
};

export class EventStreams {
	readonly #deps: StreamDeps;
	/** Whose each is: a programme's. */
	readonly #open = new Map<OpenStream, number>();

	constructor(deps: StreamDeps) {
		this.#deps = deps;
		// A clean stop waits for nobody who is only watching.
		deps.stopSignal?.addEventListener("abort", () => {
			for (const stream of [...this.#open.keys()]) stream.end();
		});
	}

	get isStopping(): boolean {
		return this.#deps.stopSignal?.aborted === true;
	}

	hasRoom(programmeId: number): boolean {
		return (
			!this.isStopping && this.#open.size < MAX_STREAMS && this.countOf(programmeId) < MAX_STREAMS_A_PROGRAMME
		);
	}

	countOf(programmeId: number): number {
		return [...this.#open.values()].filter((id) => id === programmeId).length;
	}

	/** Undefined where there is no room. */
	answer(programmeId: number, source: StreamSource): Response | undefined {
		if (!this.hasRoom(programmeId)) return undefined;
		const stream = openStream(this.#deps, source, {
			openCount: () => this.#open.size,
			onClose: () => this.#open.delete(stream),
		});
		this.#open.set(stream, programmeId);
		return new Response(stream.body, { headers: STREAM_HEADERS });
	}
}

interface OpenStream {
	body: ReadableStream<Uint8Array>;
	/** The client comes back by itself. */
	end(): void;
}

function openStream(
	{ clock, log }: StreamDeps,
	source: StreamSource,
	{ openCount, onClose }: { openCount(): number; onClose(): void },
): OpenStream {
	const encoder = new TextEncoder();
	const endsAtMs = clock.nowMs() + LIFETIME_MS;
	let sentAtMs = clock.nowMs();
	let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
	let cancelTimer = (): void => undefined;
	let isHeldUp = false;
	let hasEnded = false;

	function close(): void {
		hasEnded = true;
		cancelTimer();
		onClose();
	}

	async function hangUp(): Promise<void> {
		close();
		try {
			await source.onHungUp();
		} catch (error) {
			log.warn({ err: error }, "the end of a stream of events could not be noted");
		}
	}

	function end(): void {
		if (hasEnded) return;
		close();
		controller?.close();
	}

	function send(text: string): void {
		if (hasEnded || text === "") return;
		controller?.enqueue(encoder.encode(text));
		sentAtMs = clock.nowMs();
	}

	function lookLater(delayMs: number): void {
		if (!hasEnded) cancelTimer = clock.after(delayMs, () => void look());
	}

	async function look(): Promise<void> {
		const startedAtMs = clock.nowMs();
		if (startedAtMs >= endsAtMs) return end();
		if ((controller?.desiredSize ?? 1) <= 0) return waitForReader(startedAtMs);
		let hasMore: boolean;
		try {
			hasMore = await sendNews();
		} catch (error) {
			// The database may be away: the client comes back, and finds it or not.
			log.warn({ err: error }, "a stream of events could not be read");
			return end();
		}
		const restMs = (clock.nowMs() - startedAtMs) * openCount() * REST_FACTOR;
		lookLater(hasMore ? restMs : Math.max(LOOK_MS, restMs));
	}

	async function sendNews(): Promise<boolean> {
		const news = await source.look();
		const isSilentForLong = clock.nowMs() - sentAtMs >= HEARTBEAT_MS;
		if (news === null && !isSilentForLong) return false;
		if (!(await source.isAllowed())) {
			// Whoever comes back with a revoked key or an ended secret, or while nobody is sure of the time, is told so.
			end();
			return false;
		}
		await source.onAlive();
		const text = (await news?.compose()) ?? "";
		send(text === "" && isSilentForLong ? source.heartbeat() : text);
		return news?.hasMore ?? false;
	}

	/** What it would be sent is still there when it has taken this: a slow reader costs one message of memory. */
	function waitForReader(nowMs: number): void {
		const letGoAtMs = sentAtMs + STALL_MS;
		if (nowMs >= letGoAtMs) {
			end();
			source.hangUp();
			return;
		}
		isHeldUp = true;
		lookLater(Math.min(letGoAtMs, endsAtMs) - nowMs);
	}

	function goOn(): void {
		if (!isHeldUp) return;
		isHeldUp = false;
		cancelTimer();
		lookLater(0);
	}

	const body = new ReadableStream<Uint8Array>({
		start(started) {
			controller = started;
			send(source.opening);
			lookLater(0);
		},
		pull: goOn,
		cancel: hangUp,
	});
	return { body, end };
}
