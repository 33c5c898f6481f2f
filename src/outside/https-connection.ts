// A connection is one TLS socket with one undici client, and carries one request at a time. Between requests
// it stays open for a while, so that the next delivery to the same shop needs no handshake.

import type { EventEmitter } from "node:events";
import type { TLSSocket } from "node:tls";
import { type buildConnector, Client } from "undici";
import { type AnswerGate, placeAnswerGate } from "./https-answer-gate.ts";
import type { SecureLine } from "./https-dial.ts";

export interface Connection {
	readonly client: Client;
	readonly line: SecureLine;
	readonly socket: TLSSocket;
	readonly gate: AnswerGate;
	isKept: boolean;
}

export interface Connections {
	open(origin: string, line: SecureLine): Connection;
	/**
	 * Removes and returns the connection that has been idle for the shortest time, because the shop is least likely to
	 * be closing that one.
	 */
	take(key: string): Connection | undefined;
	keep(connection: Connection): void;
	/** Closes the idle connections. Connections in use are not in the pool. */
	close(): void;
}

/**
 * Time that an idle connection stays open. It is shorter than the idle timeouts of servers (5 s for Node and
 * Apache, 75 s for nginx), so that we close first. If the server closes the connection while a request is on
 * its way, the request is lost. Nobody knows then whether it was read, so it cannot be repeated with the same
 * nonce and would be delayed by a minute.
 */
const KEPT_MS = 4_000;
/**
 * Time that is subtracted from a server's `Keep-Alive: timeout=N`, to allow for network latency. If N is 1 s,
 * the connection is closed at once.
 */
const HINT_MARGIN_MS = 1_000;
/**
 * Maximum number of idle connections of a route. It is enough for 128 programmes on one platform, with the
 * default of 8 requests in flight each.
 */
const MAX_KEPT_PER_ROUTE = 1_024;
/**
 * Maximum number of idle connections in all. It is half of 4,096 file descriptors, the smallest hard limit in
 * common use, to which Node raises the soft limit.
 */
const MAX_KEPT = 2_048;
/** Maximum size of the headers. Node's own server and client have the same default. */
const MAX_ANSWER_HEADER_BYTES = 16 * 1_024;
/**
 * Maximum size of a body that is read to its end so that the connection can be reused. For a larger body, a
 * new handshake is cheaper.
 */
const MAX_ANSWER_BODY_BYTES = 64 * 1_024;

// undici closes an idle socket after its timeout, and at once if unsolicited bytes arrive on it. A second
// answer to an old request must never be mistaken for the answer to the next request.
export function createConnections(): Connections {
	const keptByRoute = new Map<string, Connection[]>();
	let count = 0;

	function forget(connection: Connection): void {
		const list = keptByRoute.get(connection.line.route.key);
		if (list === undefined) return;
		if (connection.isKept) {
			connection.isKept = false;
			count -= 1;
			list.splice(list.indexOf(connection), 1);
		}
		if (list.length === 0) keptByRoute.delete(connection.line.route.key);
	}

	return {
		open(origin, line) {
			const { socket } = line;
			const gate = placeAnswerGate(socket);
			const connection = { client: openClient(origin, socket), line, socket, gate, isKept: false };
			socket.once("close", () => forget(connection));
			// undici also closes an idle connection that the shop closes, but it creates an error, whose stack trace takes
			// longer than everything else.
			socket.once("end", () => {
				if (connection.isKept) socket.destroy();
			});
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
			let list = keptByRoute.get(connection.line.route.key);
			if (list === undefined) {
				list = [];
				keptByRoute.set(connection.line.route.key, list);
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
		// This option is set, because an environment variable could otherwise select another parser.
		useMilo: false,
		pipelining: 1,
		maxHeaderSize: MAX_ANSWER_HEADER_BYTES,
		maxResponseSize: MAX_ANSWER_BODY_BYTES,
		// undici's timeouts are off, because the attempt's deadline covers them. undici's own timers have a
		// resolution of half a second.
		headersTimeout: 0,
		bodyTimeout: 0,
		keepAliveTimeout: KEPT_MS,
		keepAliveMaxTimeout: KEPT_MS,
		keepAliveTimeoutThreshold: HINT_MARGIN_MS,
	});
	// undici emits its failed assertions as this event. Without a listener they would end the process.
	const emitter: EventEmitter = client;
	emitter.on("error", () => socket.destroy());
	return client;
}

/**
 * Gives undici our socket once. undici asks for another one if the socket died before the request was
 * written. The request then fails with an error that shows that none of it was sent.
 */
function handOver(socket: TLSSocket): buildConnector.connector {
	let isHandedOver = false;
	return (_options, callback) => {
		const isFirst = !isHandedOver;
		isHandedOver = true;
		// The callback must be asynchronous. If undici were called back inside its own call, it would not write
		// the waiting request.
		queueMicrotask(() => {
			if (isFirst) callback(null, socket);
			else callback(Object.assign(new Error("connection lost"), { code: "ECONNRESET" }), null);
		});
	};
}
