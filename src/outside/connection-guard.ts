// Keeps a server reachable when many clients hold connections open. If there is no room for another
// connection, the connection that has been unfinished for the longest time is closed. An honest exchange
// takes milliseconds, while slow headers, slow bodies and slow readers all keep a connection unfinished.
//
// Streams, uploads and exports take long by design. The app announces them when it admits them, and their
// connections have a separate limit.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { MINUTE_MS } from "#core/domain/time.ts";
import type { Log } from "#core/ports.ts";

export type ServeRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;

export interface GuardOptions {
	serve: ServeRequest;
	maxConnections: number;
	/** Returns true while the server is closing. Each answer is then the last one on its connection, and says so. */
	isEnding(): boolean;
	log: Log;
}

/** Event that an answer emits when the app has admitted it as a stream, an upload or an export. */
const TAKES_LONG = "takesLong";
/**
 * Maximum number of connections for long answers. The app admits 50 streams, 16 exports and 10 uploads at
 * once. It admits another one as soon as it has finished an answer, but a slow client may still have to
 * receive the last bytes of that answer over its connection. The limit leaves room for such connections.
 */
const MAX_LONG = 256;

/**
 * Maximum number of pipelined requests on a connection. Node processes all pipelined requests at once, and
 * honest clients send one at a time.
 */
const MAX_UNDER_WAY = 4;
/** Minimum time between two log lines about a flood of connections. */
const LOG_INTERVAL_MS = MINUTE_MS;

export function guardConnections(server: Server, options: GuardOptions): void {
	const { serve, maxConnections, isEnding, log } = options;
	/**
	 * Connections in the order of their last event (opened, request or answer). The first one has been
	 * unfinished or idle for the longest time.
	 */
	const room = new Set<Socket>();
	/** Connections with an answer that the app announced as long, in the order in which they were announced. */
	const long = new Set<Socket>();
	/** Number of requests per connection whose headers have arrived and whose answer is not finished. */
	const underWay = new Map<Socket, number>();
	const tell = createTeller(log, maxConnections);

	function leave(socket: Socket): void {
		room.delete(socket);
		long.delete(socket);
	}

	/** Adds a connection at the end of a set. If the set is full, its first connection is closed. */
	function enter(socket: Socket, into: Set<Socket>, max: number): void {
		leave(socket);
		const [longest] = into;
		if (into.size >= max && longest !== undefined) {
			leave(longest);
			// The connection is reset, because after an orderly close the kernel would store its state for another
			// minute.
			longest.resetAndDestroy();
			tell();
		}
		into.add(socket);
	}

	// This listener must run before Node's own listener, which starts to read from the socket.
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
		// An answer with "connection: close" would lose other requests that are under way on the connection, so
		// the header is set only if there are none.
		if (isEnding() && before === 0) outgoing.setHeader("connection", "close");
		serve(incoming, outgoing);
	};
	server.on("request", take);
	// Node emits this event for a request with an unknown `Expect` header. Without a listener, Node itself would answer
	// such requests, without any limit.
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
