// One rule keeps a listener open to everybody: when it has no room for another connection, the one goes that has been
// unfinished for the longest, whoever's it is. An honest exchange takes milliseconds; a slow head, a slow body, a slow
// reader and a proxy's client all look alike. What takes long by its nature, streams, uploads and exports, says so when
// the app has a place for it, and has a room of its own here.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { MINUTE_MS } from "../domain/time.ts";
import type { Log } from "../ports.ts";

export type ServeRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;

export interface GuardOptions {
	serve: ServeRequest;
	maxConnections: number;
	/** Whether an answer is to be the last one on its connection. */
	isEnding(): boolean;
	log: Log;
}

/** Emitted by an answer that has one of the app's places for streams, uploads or exports. */
const TAKES_LONG = "takesLong";
/** The app has 50 places for streams, 16 for exports and 10 for uploads; some are let go of with bytes still unread. */
const MAX_LONG = 256;

/** Node answers the requests of one connection in their order, and works on all of them. Clients send one at a time. */
const MAX_UNDER_WAY = 4;
/** A flood is one line a minute, not one a connection. */
const LOG_INTERVAL_MS = MINUTE_MS;

export function guardConnections(server: Server, options: GuardOptions): void {
	const { serve, maxConnections, isEnding, log } = options;
	/** In the order of their last step (opened, asked, answered): the first has been unfinished or idle for the longest. */
	const room = new Set<Socket>();
	/** Those that said that they take long, in that order. */
	const long = new Set<Socket>();
	/** Requests whose head is in and whose answer is not out. */
	const underWay = new Map<Socket, number>();
	const tell = createTeller(log, maxConnections);

	function leave(socket: Socket): void {
		room.delete(socket);
		long.delete(socket);
	}

	/** As the last of its room; where that is full, the first goes. */
	function enter(socket: Socket, into: Set<Socket>, max: number): void {
		leave(socket);
		const [longest] = into;
		if (into.size >= max && longest !== undefined) {
			leave(longest);
			// By a reset: a polite end would leave us the remains of every one for a minute.
			longest.resetAndDestroy();
			tell();
		}
		into.add(socket);
	}

	// Before Node's own listener: it would begin to read.
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
		// Node goes through all it has read of a connection, also when that has been hung up on meanwhile.
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
		// What came behind it would be dropped with the connection.
		if (isEnding() && before === 0) outgoing.setHeader("connection", "close");
		serve(incoming, outgoing);
	};
	server.on("request", take);
	// A header that asks for something unheard of. Node would answer it by itself, any number of times.
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
