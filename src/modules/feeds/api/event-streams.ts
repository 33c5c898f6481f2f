// Streams of server-sent events. Their number, their lifetime and the data that waits for a reader are bounded. Clients of
// such streams reconnect by themselves when a stream ends.

import type { AppDeps } from "#core/api/deps.ts";
import { STOPPING } from "#core/api/health.ts";
import { type Result, refusalOf, refuse, succeed } from "#core/domain/fault.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";

export interface StreamSource {
	/** First message. It is sent at once, so that the client and the proxies in between receive the headers. */
	opening: string;
	/**
	 * Checks for new events and resolves to null if there are none. The check must be cheap, because it runs
	 * twice a second.
	 */
	look(): Promise<News | null>;
	/**
	 * Returns whether the reader is still allowed to read. It is called before anything is sent, and once a second while
	 * there is nothing to send.
	 */
	isAllowed(): Promise<boolean>;
	/** Called before each message and each heartbeat. */
	onAlive(): Promise<void>;
	/** Called when the reader has closed the connection. */
	onHungUp(): Promise<void>;
	/** Returns the message of a stream that has been silent for a while. */
	heartbeat(): string;
	/** Closes the connection of a reader that stopped reading. */
	hangUp(): void;
}

export interface News {
	/** Returns the text to send. It may be empty. */
	compose(): Promise<string>;
	/** True if more events are available. They are read as soon as the reader has received this message. */
	hasMore: boolean;
}

type StreamDeps = Pick<AppDeps, "clock" | "log" | "stopSignal">;

/**
 * Maximum number of open streams of one process, and of one shop in a process. A shop has few developers who listen, and
 * each stream costs a query every half second.
 */
export const MAX_STREAMS = 50;
export const MAX_STREAMS_A_RECEIVER = 5;
/** Time between two checks for new events. */
const LOOK_MS = 500;
/**
 * Maximum time between two checks that the reader is still allowed to read. Keys that were revoked in another process are
 * cached for the same time, so a stream lasts no longer than any other call.
 */
const PERMISSION_MS = SECOND_MS;
/**
 * Time without an event after which a heartbeat is sent. Proxies close connections that are silent for half a
 * minute or more.
 */
const HEARTBEAT_MS = 15 * SECOND_MS;
/**
 * Maximum lifetime of a stream. When it ends, the client sends a new request, so changes of its rights take
 * effect.
 */
const LIFETIME_MS = 15 * MINUTE_MS;
/**
 * Factor for the pause after each check. The pause is at least this many times the duration of the check,
 * multiplied by the number of open streams. All streams together therefore use at most a quarter of the time.
 */
const REST_FACTOR = 3;
/**
 * Maximum time that a message waits for its reader. Nothing is read from the database while a message waits.
 */
const STALL_MS = 30 * SECOND_MS;

const STREAM_HEADERS = {
	"content-type": "text/event-stream; charset=utf-8",
	"cache-control": "no-store",
	// Without this header nginx would buffer the events.
	"x-accel-buffering": "no",
};

export class EventStreams {
	readonly #deps: StreamDeps;
	/** Open streams, each with its receiver. */
	readonly #open = new Map<OpenStream, ReceiverId>();

	constructor(deps: StreamDeps) {
		this.#deps = deps;
		// Streams are closed when the service stops, so that the stop does not wait for their readers.
		deps.stopSignal?.addEventListener("abort", () => {
			for (const stream of [...this.#open.keys()]) stream.end();
		});
	}

	/** Returns a refusal if this receiver cannot open another stream now. */
	judgeRoom(receiverId: ReceiverId): Result<null> {
		if (this.#deps.stopSignal?.aborted === true) return refuse("unavailable", STOPPING);
		if (this.countOf(receiverId) >= MAX_STREAMS_A_RECEIVER) {
			const limit = `${MAX_STREAMS_A_RECEIVER} streams of yours are open, which is the maximum`;
			return refusalOf("too_many_streams", { limit });
		}
		if (this.#open.size >= MAX_STREAMS && this.#findReplaceable(receiverId) === undefined) {
			return refusalOf("too_many_streams", { limit: `All ${MAX_STREAMS} places for streams are taken` });
		}
		return succeed(null);
	}

	/**
	 * Returns the stream that is closed if all places are taken and this receiver opens another stream. It is
	 * the oldest stream of the receiver with the most streams, provided that this receiver does not get more
	 * streams than that one keeps. Otherwise a few receivers could take all places, and everybody else would be
	 * refused. Returns undefined if no receiver has that many.
	 */
	#findReplaceable(receiverId: ReceiverId): OpenStream | undefined {
		let most = this.countOf(receiverId) + 1;
		let found: OpenStream | undefined;
		for (const [stream, owner] of this.#open) {
			const count = this.countOf(owner);
			if (count <= most) continue;
			most = count;
			found = stream;
		}
		return found;
	}

	countOf(receiverId: ReceiverId): number {
		return [...this.#open.values()].filter((id) => id === receiverId).length;
	}

	/** Opens a stream and returns it as an answer. It is refused if there is no room for another stream. */
	answer(receiverId: ReceiverId, source: StreamSource): Result<Response> {
		const room = this.judgeRoom(receiverId);
		if (!room.ok) return room;
		if (this.#open.size >= MAX_STREAMS) this.#findReplaceable(receiverId)?.end();
		const stream = new OpenStream(this.#deps, source, {
			openCount: () => this.#open.size,
			onClose: () => this.#open.delete(stream),
		});
		this.#open.set(stream, receiverId);
		return succeed(new Response(stream.body, { headers: STREAM_HEADERS }));
	}
}

interface Streams {
	/** Returns the number of open streams of this process. */
	openCount(): number;
	onClose(): void;
}

/**
 * A stream of one reader. It checks for news again and again, and stops while a message waits for its reader.
 *
 *   looking ◀─▶ waiting for the reader          ended from both states
 */
class OpenStream {
	readonly body: ReadableStream<Uint8Array>;
	readonly #deps: StreamDeps;
	readonly #source: StreamSource;
	readonly #streams: Streams;
	readonly #endsAtMs: number;
	#state: "looking" | "waiting for the reader" | "ended" = "looking";
	#sentAtMs: number;
	#allowedAtMs: number;
	#controller: ReadableStreamDefaultController<Uint8Array> | undefined;
	#cancelTimer = (): void => undefined;

	constructor(deps: StreamDeps, source: StreamSource, streams: Streams) {
		const nowMs = deps.clock.nowMs();
		this.#deps = deps;
		this.#source = source;
		this.#streams = streams;
		this.#endsAtMs = nowMs + LIFETIME_MS;
		this.#sentAtMs = nowMs;
		this.#allowedAtMs = nowMs;
		this.body = new ReadableStream<Uint8Array>({
			start: (controller) => {
				this.#controller = controller;
				this.#send(source.opening);
				this.#lookLater(0);
			},
			pull: () => this.#resume(),
			cancel: () => this.#hungUp(),
		});
	}

	/** Ends the stream. The client reconnects by itself. */
	end(): void {
		if (this.#state === "ended") return;
		this.#close();
		this.#controller?.close();
	}

	#close(): void {
		this.#state = "ended";
		this.#cancelTimer();
		this.#streams.onClose();
	}

	async #hungUp(): Promise<void> {
		this.#close();
		try {
			await this.#source.onHungUp();
		} catch (error) {
			this.#deps.log.warn({ err: error }, "the end of an event stream could not be stored");
		}
	}

	#send(text: string): void {
		if (this.#state === "ended" || text === "") return;
		this.#controller?.enqueue(new TextEncoder().encode(text));
		this.#sentAtMs = this.#deps.clock.nowMs();
	}

	#lookLater(delayMs: number): void {
		if (this.#state === "ended") return;
		this.#cancelTimer = this.#deps.clock.after(delayMs, () => void this.#look());
	}

	async #look(): Promise<void> {
		const { clock, log } = this.#deps;
		const startedAtMs = clock.nowMs();
		if (startedAtMs >= this.#endsAtMs) return this.end();
		if ((this.#controller?.desiredSize ?? 1) <= 0) return this.#waitForReader(startedAtMs);
		let hasMore: boolean;
		try {
			hasMore = await this.#sendNews();
		} catch (error) {
			// The database may be out of reach. The client reconnects and tries again.
			log.warn({ err: error }, "events for a stream could not be read");
			return this.end();
		}
		const restMs = (clock.nowMs() - startedAtMs) * this.#streams.openCount() * REST_FACTOR;
		this.#lookLater(hasMore ? restMs : Math.max(LOOK_MS, restMs));
	}

	async #sendNews(): Promise<boolean> {
		const source = this.#source;
		const news = await source.look();
		const nowMs = this.#deps.clock.nowMs();
		const isSilentForLong = nowMs - this.#sentAtMs >= HEARTBEAT_MS;
		const hasMessage = news !== null || isSilentForLong;
		if (!hasMessage && nowMs - this.#allowedAtMs < PERMISSION_MS) return false;
		if (!(await source.isAllowed())) {
			// The stream ends without a reason. The client learns the reason (a revoked key, an expired secret, an
			// uncertain clock) when it reconnects and is refused.
			this.end();
			return false;
		}
		this.#allowedAtMs = nowMs;
		if (!hasMessage) return false;
		await source.onAlive();
		const text = (await news?.compose()) ?? "";
		this.#send(text === "" && isSilentForLong ? source.heartbeat() : text);
		return news?.hasMore ?? false;
	}

	/**
	 * Waits until the reader has received the last message. Later events stay in the database, so a slow reader
	 * occupies the memory of one message only.
	 */
	#waitForReader(nowMs: number): void {
		const deadlineMs = this.#sentAtMs + STALL_MS;
		if (nowMs >= deadlineMs) {
			this.end();
			this.#source.hangUp();
			return;
		}
		this.#state = "waiting for the reader";
		this.#lookLater(Math.min(deadlineMs, this.#endsAtMs) - nowMs);
	}

	/** Continues after the reader has received the last message. */
	#resume(): void {
		if (this.#state !== "waiting for the reader") return;
		this.#state = "looking";
		this.#cancelTimer();
		this.#lookLater(0);
	}
}
