// The listening socket.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { AddressRange } from "../domain/address.ts";
import type { Log } from "../ports.ts";
import { guardConnections } from "./connection-guard.ts";
import type { ConnectionBounds } from "./connection-table.ts";
import { RecordedResponse, type RecordingOptions, recordRequests } from "./request-records.ts";

export interface HttpLimits {
	/** From the first byte, or from the connection where none comes. */
	headersTimeoutMs: number;
	/** Headers and body together; slow senders do not get to keep a socket. */
	requestTimeoutMs: number;
	/** How long a connection may wait for its next request. */
	idleTimeoutMs: number;
	/** How long an answer may wait for its reader without a byte being taken. */
	unreadTimeoutMs: number;
	connections: ConnectionBounds;
}

/** The public listener's. */
export const PUBLIC_LIMITS: HttpLimits = {
	// Headers come in one piece, also over a bad line; 40,000 decisions are some 3 MB, which takes 2 Mbit/s.
	headersTimeoutMs: 10_000,
	requestTimeoutMs: 15_000,
	// Proxies and load balancers keep theirs for a minute. Whoever hangs up first must be them: a request that crosses
	// our hanging up is lost.
	idleTimeoutMs: 75_000,
	// As long as a message of a stream may wait.
	unreadTimeoutMs: 30_000,
	connections: {
		// Half of 4,096 file descriptors: callers who only hold connections must leave enough for the callbacks.
		inAll: 2_048,
		// An eighth. An office behind one address: forty people with the six connections of a browser, or all the
		// streams there are (100 of pages, 50 of events) and a hundred calls beside them.
		ofOneNetwork: 256,
		// A quarter. A head follows its connection by a round trip: with 200 ms, 2,500 new connections a second.
		halfOpen: 512,
		// A quarter of what it may have. Browsers open one or two ahead of need.
		halfOpenOfOneNetwork: 64,
		// Clients send one at a time, or a handful. Each that waits costs some 3 KB: 100 MB on all connections.
		underWayOnOne: 16,
		// Several round trips over the worst line there is; a fifth of the usual time.
		pressedHeadMs: 2_000,
	},
};

/** The metrics listener's: a few collectors, and somebody with curl. */
export const METRICS_LIMITS: HttpLimits = {
	headersTimeoutMs: 5_000,
	requestTimeoutMs: 5_000,
	idleTimeoutMs: 5_000,
	unreadTimeoutMs: 5_000,
	connections: {
		inAll: 64,
		ofOneNetwork: 32,
		halfOpen: 32,
		halfOpenOfOneNetwork: 16,
		underWayOnOne: 4,
		pressedHeadMs: 1_000,
	},
};

/** How late a limit may hold. Node looks every 30 seconds by itself, so that 15 seconds would be up to 45. */
const LIMITS_CHECK_INTERVAL_MS = 1_000;
/** On closing: as long as a callback in flight may take, so that a stop waits for neither longer than that. */
const CLOSE_TIMEOUT_MS = 5_000;

export interface ListenOptions {
	host: string;
	port: number;
	limits: HttpLimits;
	trustedProxies: readonly AddressRange[];
	log: Log;
	/** Nobody counts or logs what is asked here unless told. */
	recording?: Omit<RecordingOptions, "trustedProxies">;
}

export interface ServedApp {
	fetch: (request: Request, env: object) => Response | Promise<Response>;
}

export interface HttpServer {
	url: string;
	port: number;
	/** An app may have to know its port before it can be made: whoever asks earlier waits for it. */
	serve(app: ServedApp): void;
	/** From now on each answer is the last one on its connection, so that clients who keep theirs go elsewhere. */
	endConnections(): void;
	/** Answers what has been asked, takes nothing new. Whoever has not finished asking in time is hung up on. */
	close(): Promise<void>;
}

export function listen({ host, port, limits, recording, ...guarding }: ListenOptions): Promise<HttpServer> {
	return new Promise((resolve, reject) => {
		const app = Promise.withResolvers<ServedApp>();
		const server = createServer({
			headersTimeout: limits.headersTimeoutMs,
			requestTimeout: limits.requestTimeoutMs,
			keepAliveTimeout: limits.idleTimeoutMs,
			connectionsCheckingInterval: LIMITS_CHECK_INTERVAL_MS,
			...(recording === undefined ? {} : { ServerResponse: RecordedResponse }),
		});
		const listener = getRequestListener(async (request, env) => (await app.promise).fetch(request, env), {
			hostname: host,
		});
		const { trustedProxies } = guarding;
		const serve =
			recording === undefined ? listener : recordRequests(listener, { ...recording, trustedProxies });
		const { connections: bounds, unreadTimeoutMs } = limits;
		let isEnding = false;
		guardConnections(server, { ...guarding, serve, bounds, unreadTimeoutMs, isEnding: () => isEnding });
		server.once("error", reject);
		server.listen(port, host, () => {
			server.off("error", reject);
			const address = server.address() as AddressInfo;
			resolve({
				url: urlOf(address),
				port: address.port,
				serve: app.resolve,
				endConnections() {
					isEnding = true;
				},
				close: () => closeServer(server),
			});
		});
	});
}

function urlOf({ family, address, port }: AddressInfo): string {
	return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

function closeServer(server: Server): Promise<void> {
	return new Promise((resolve) => {
		// Once it is closing, Node itself checks no request's time any more.
		const timer = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS);
		server.close(() => {
			clearTimeout(timer);
			resolve();
		});
		// A client that would keep its connection must not keep us: it is hung up on as soon as it has its answer.
		server.keepAliveTimeout = 1;
		server.keepAliveTimeoutBuffer = 0;
		server.closeIdleConnections();
	});
}
