// A connection is one TLS socket under one undici client, and carries one request at a time. Between requests
// it is kept for a while, so that the next delivery to the same shop needs no handshake.

import type { EventEmitter } from "node:events";
import type { TLSSocket } from "node:tls";
import { type buildConnector, Client } from "undici";
import { type AnswerGate, placeAnswerGate } from "./https-answer-gate.ts";
import type { Route } from "./https-target.ts";

export interface Connection {
	readonly client: Client;
	readonly socket: TLSSocket;
	readonly gate: AnswerGate;
	readonly route: Route;
	isKept: boolean;
}

export interface Connections {
	open(origin: string, socket: TLSSocket, route: Route): Connection;
	/** The one used last: it is the least likely to be closed by the other side just now. */
	take(key: string): Connection | undefined;
	keep(connection: Connection): void;
	/** Ends the kept ones; those in use are not known here. */
	close(): void;
}

/**
 * Shorter than the servers' own idle times (Node and Apache close after 5 s, nginx after 75 s). A request that
 * crosses their close on the wire is lost, may or may not have been read, and so cannot be repeated with the
 * same nonce: it would cost the shop a minute's delay. We close first, so that this practically never happens.
 */
const KEPT_MS = 4_000;
/** Taken off a server's `Keep-Alive: timeout=N`, for the way there; a hint of 1 s means not kept at all. */
const HINT_MARGIN_MS = 1_000;
/** 128 programmes on one platform, each with the default 8 requests in flight. */
const MAX_KEPT_PER_ROUTE = 1_024;
/** Half of 4,096 file descriptors, the smallest hard limit in common use; Node raises the soft limit to it. */
const MAX_KEPT = 2_048;
/** Node's own limit for its HTTP server and client. */
const MAX_ANSWER_HEADER_BYTES = 16 * 1_024;
/** Enough to read an error page to its end and keep the connection; beyond it a new handshake is cheaper. */
const MAX_ANSWER_BODY_BYTES = 64 * 1_024;

// undici itself closes a kept socket after its time, and at once when bytes arrive on it that nobody asked
// for: a second answer to an old request must never be taken for the answer to the next one.
export function createConnections(): Connections {
	const keptByRoute = new Map<string, Connection[]>();
	let count = 0;

	function forget(connection: Connection): void {
		const list = keptByRoute.get(connection.route.key);
		if (list === undefined) return;
		if (connection.isKept) {
			connection.isKept = false;
			count -= 1;
			list.splice(list.indexOf(connection), 1);
		}
		if (list.length === 0) keptByRoute.delete(connection.route.key);
	}

	return {
		open(origin, socket, route) {
			const gate = placeAnswerGate(socket);
			const connection = { client: openClient(origin, socket), socket, gate, route, isKept: false };
			socket.once("close", () => forget(connection));
			return connection;
		},
		take(key) {
			const list = keptByRoute.get(key);
			if (list === undefined) return undefined;
			for (let connection = list.pop(); connection !== undefined; connection = list.pop()) {
				connection.isKept = false;
				count -= 1;
				if (!connection.socket.destroyed) return connection;
			}
			return undefined;
		},
		keep(connection) {
			let list = keptByRoute.get(connection.route.key);
			if (list === undefined) {
				list = [];
				keptByRoute.set(connection.route.key, list);
			}
			if (count >= MAX_KEPT || list.length >= MAX_KEPT_PER_ROUTE) {
				connection.socket.destroy();
				return;
			}
			list.push(connection);
			count += 1;
			connection.isKept = true;
		},
		close() {
			for (const list of keptByRoute.values()) {
				for (const connection of list) connection.socket.destroy();
			}
		},
	};
}

function openClient(origin: string, socket: TLSSocket): Client {
	const client = new Client(origin, {
		connect: handOver(socket),
		allowH2: false,
		// Pinned, because an environment variable would switch the parser otherwise.
		useMilo: false,
		pipelining: 1,
		maxHeaderSize: MAX_ANSWER_HEADER_BYTES,
		maxResponseSize: MAX_ANSWER_BODY_BYTES,
		// The attempt's deadline covers both, exactly; undici's timers tick in half seconds.
		headersTimeout: 0,
		bodyTimeout: 0,
		keepAliveTimeout: KEPT_MS,
		keepAliveMaxTimeout: KEPT_MS,
		keepAliveTimeoutThreshold: HINT_MARGIN_MS,
	});
	// undici reports its own broken assertions here; unheard they would end the process.
	const emitter: EventEmitter = client;
	emitter.on("error", () => socket.destroy());
	return client;
}

/**
 * Gives undici our socket, once. It asks again when the socket died with a request still unwritten: the error
 * then reaches that request, which so learns that not a byte of it was sent.
 */
function handOver(socket: TLSSocket): buildConnector.connector {
	let isHandedOver = false;
	return (_options, callback) => {
		const isFirst = !isHandedOver;
		isHandedOver = true;
		// Never at once: undici forgets to write the waiting request if it is called back inside its own call.
		queueMicrotask(() => {
			if (isFirst) callback(null, socket);
			else callback(Object.assign(new Error("connection lost"), { code: "ECONNRESET" }), null);
		});
	};
}
