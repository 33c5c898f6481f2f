// Keeps a listener reachable when many clients hold connections open. When there is no room for another
// connection, the connection that has been unfinished for the longest time is closed, whoever owns it. An
// honest exchange takes milliseconds, while slow headers, slow bodies and slow readers all look alike.
//
// Streams, uploads and exports take long by design. They are announced when the app admits them, and have a
// separate limit here.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { MINUTE_MS } from "../domain/time.ts";
import type { Log } from "../ports.ts";

export type ServeRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;

export interface GuardOptions {
	serve: ServeRequest;
	maxConnections: number;
	/** Returns true if each answer must be the last one on its connection. */
	isEnding(): boolean;
	log: Log;
}

/** Event that an answer emits when the app has admitted it as a stream, an upload or an export. */
const TAKES_LONG = "takesLong";
/**
 * Maximum number of long connections. The app admits 50 streams, 16 exports and 10 uploads; the rest allows
 * for closed ones with unread bytes.
 */
const MAX_LONG = 256;

/**
 * Maximum number of pipelined requests per connection. Node works on all of them at once, and honest clients
 * send one at a time.
 */
const MAX_UNDER_WAY = 4;
/** Shortest time between two log lines about a flood. */
const LOG_INTERVAL_MS = MINUTE_MS;

export function guardConnections(server: Server, options: GuardOptions): void {
	const { serve, maxConnections, isEnding, log } = options;
	/**
	 * Connections in the order of their last step (opened, request, answer). The first one has been unfinished
	 * or idle for the longest time.
	 */
	const room = new Set<Socket>();
	/** Connections that were announced as long, in the order of their announcement. */
	const long = new Set<Socket>();
	/** Number of requests per connection whose headers have arrived and whose answer is not finished. */
	const underWay = new Map<Socket, number>();
	const tell = createTeller(log, maxConnections);

	function leave(socket: Socket): void {
		room.delete(socket);
		long.delete(socket);
	}

	/** Adds a connection at the end of a set, and closes the first one if the set is full. */
	function enter(socket: Socket, into: Set<Socket>, max: number): void {
		leave(socket);
		const [longest] = into;
		if (into.size >= max && longest !== undefined) {
			leave(longest);
			// The connection is reset, because an orderly close would keep its state in our kernel for a minute.
			longest.resetAndDestroy();
			tell();
		}
		into.add(socket);
	}

	// This listener must run before Node's own, which starts to read.
	server.prependListener("connection", (socket: Socket) => {
		enter(socket, room, maxConnections);
		underWay.set(socket, 0);
		socket.once("close", () => {
			leave(socket);
			underWay.delete(socket);
		});
	});
	const take = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
		const { socket } = incoming;
		const before = underWay.get(socket);
		// Node parses everything it has read from a connection, even after the connection was closed.
		if (before === undefined || socket.destroyed) return;
		if (before === MAX_UNDER_WAY) return void socket.resetAndDestroy();
		underWay.set(socket, before + 1);
		enter(socket, room, maxConnections);
		outgoing.once(TAKES_LONG, () => enter(socket, long, MAX_LONG));
		outgoing.once("close", () => {
			const now = underWay.get(socket);
			if (now === undefined) return;
			underWay.set(socket, now - 1);
			enter(socket, room, maxConnections);
		});
		// Requests that follow on this connection would be lost with it, so only the last one may close it.
		if (isEnding() && before === 0) outgoing.setHeader("connection", "close");
		serve(incoming, outgoing);
	};
	server.on("request", take);
	// An unknown `Expect` header. Node would answer such requests by itself, without any limit.
	server.on("checkExpectation", take);
}

function createTeller(log: Log, maxConnections: number): () => void {
	let toldAtMs = Number.NEGATIVE_INFINITY;
	let closed = 0;
	return () => {
		closed++;
		const nowMs = performance.now();
		if (nowMs - toldAtMs < LOG_INTERVAL_MS) return;
		log.warn(
			{ closed, maxConnections },
			"too many connections at once: for each new one, the one that had been unfinished for the longest was closed",
		);
		toldAtMs = nowMs;
		closed = 0;
	};
}
