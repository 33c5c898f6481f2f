// The HTTP server that listens for incoming requests.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Log } from "../ports.ts";
import { guardConnections, type ServeRequest } from "./connection-guard.ts";
import { RecordedResponse, type RecordingOptions, recordRequests } from "./request-records.ts";

export interface HttpLimits {
	/** Time allowed for the headers, counted from their first byte or from the start of the connection. */
	headersTimeoutMs: number;
	/** Time allowed for headers and body together, so that slow senders cannot hold a socket. */
	requestTimeoutMs: number;
	/** Time that a connection may stay idle between two requests. */
	idleTimeoutMs: number;
	/**
	 * Maximum number of connections. Streams and uploads are not counted, because the app limits them itself.
	 */
	maxConnections: number;
}

/** Limits of the public listener. */
export const PUBLIC_LIMITS: HttpLimits = {
	// Headers arrive in one piece even over a bad line. A body of 40,000 decisions is about 3 MB, which needs 2
	// Mbit/s.
	headersTimeoutMs: 10_000,
	requestTimeoutMs: 15_000,
	// Proxies and load balancers keep idle connections for a minute. They must close first, because a request
	// that crosses our close is lost.
	idleTimeoutMs: 75_000,
	// Half of 4,096 file descriptors. Idle callers must leave enough descriptors for the callbacks.
	maxConnections: 2_048,
};

/** Limits of the metrics listener, which serves a few collectors and people with curl. */
export const METRICS_LIMITS: HttpLimits = {
	headersTimeoutMs: 5_000,
	requestTimeoutMs: 5_000,
	idleTimeoutMs: 5_000,
	maxConnections: 64,
};

/**
 * Interval at which time limits are checked. Node's default of 30 seconds would turn a limit of 15 seconds
 * into 45.
 */
const LIMITS_CHECK_INTERVAL_MS = 1_000;
/**
 * Time to wait for open requests when the server closes. A callback in flight may take as long, so a stop
 * waits no longer than that.
 */
const CLOSE_TIMEOUT_MS = 5_000;

export interface ListenOptions {
	host: string;
	port: number;
	limits: HttpLimits;
	log: Log;
	/** How requests are counted and logged. By default they are not. */
	recording?: RecordingOptions;
}

/** An answer without a body. */
export interface BareAnswer {
	status: number;
	headers: Readonly<Record<string, string>>;
}

export interface ServedApp {
	fetch: (request: Request, env: object) => Response | Promise<Response>;
	/**
	 * Answers requests that arrive thousands of times a second, or returns null for requests that take the
	 * normal route.
	 */
	answerAtOnce?(incoming: IncomingMessage): BareAnswer | null;
}

export interface HttpServer {
	url: string;
	port: number;
	/**
	 * Starts to serve. An app may need the port before it can be created, so earlier requests wait for this
	 * call.
	 */
	serve(app: ServedApp): void;
	/** Makes each further answer the last one on its connection, so that clients reconnect elsewhere. */
	endConnections(): void;
	/**
	 * Answers the requests that have arrived and accepts no new ones. Connections with unfinished requests are
	 * closed after a timeout.
	 */
	close(): Promise<void>;
}

export function listen({ host, port, limits, recording, log }: ListenOptions): Promise<HttpServer> {
	return new Promise((resolve, reject) => {
		const app = Promise.withResolvers<ServedApp>();
		let answerAtOnce: ServedApp["answerAtOnce"];
		const server = createServer({
			headersTimeout: limits.headersTimeoutMs,
			requestTimeout: limits.requestTimeoutMs,
			keepAliveTimeout: limits.idleTimeoutMs,
			connectionsCheckingInterval: LIMITS_CHECK_INTERVAL_MS,
			...(recording === undefined ? {} : { ServerResponse: RecordedResponse }),
		});
		const fetch = getRequestListener(async (request, env) => (await app.promise).fetch(request, env), {
			hostname: host,
		});
		const atOnce = (incoming: IncomingMessage): BareAnswer | null => {
			try {
				return answerAtOnce?.(incoming) ?? null;
			} catch {
				// The request then takes the normal route, where it fails in the same way and is logged and answered.
				return null;
			}
		};
		const together = answerTogether(atOnce, fetch);
		const serve = recording === undefined ? together : recordRequests(together, recording);
		let isEnding = false;
		const { maxConnections } = limits;
		guardConnections(server, { serve, maxConnections, log, isEnding: () => isEnding });
		server.once("error", reject);
		server.listen(port, host, () => {
			server.off("error", reject);
			const address = server.address() as AddressInfo;
			resolve({
				url: urlOf(address),
				port: address.port,
				serve(served) {
					app.resolve(served);
					({ answerAtOnce } = served);
				},
				endConnections() {
					isEnding = true;
				},
				close: () => closeServer(server),
			});
		});
	});
}

/**
 * Computes the answers of all requests that arrived together and then writes them together. This halves the
 * processor time of a click (docs/performance.md, C1), because alternating between the two steps evicts the
 * processor's caches.
 */
function answerTogether(
	atOnce: (incoming: IncomingMessage) => BareAnswer | null,
	fetch: ServeRequest,
): ServeRequest {
	let arrived: Parameters<ServeRequest>[] = [];
	const answerAll = (): void => {
		const all = arrived;
		arrived = [];
		const answers = all.map(([incoming]) => atOnce(incoming));
		for (const [at, [incoming, outgoing]] of all.entries()) {
			const answer = answers[at] ?? null;
			if (answer === null) fetch(incoming, outgoing);
			else outgoing.writeHead(answer.status, answer.headers).end();
		}
	};
	return (incoming, outgoing) => {
		if (arrived.push([incoming, outgoing]) === 1) setImmediate(answerAll);
	};
}

/**
 * Rejects if the port is taken, as listening would. The service calls it before it creates anything. No
 * request is answered meanwhile.
 */
export async function refuseTakenPort(host: string, port: number): Promise<void> {
	if (port === 0) return;
	const server = createServer().listen(port, host);
	await once(server, "listening");
	server.close();
	await once(server, "close");
}

function urlOf({ family, address, port }: AddressInfo): string {
	return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

function closeServer(server: Server): Promise<void> {
	return new Promise((resolve) => {
		// Node stops checking the time limits of requests once the server is closing.
		const timer = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS);
		server.close(() => {
			clearTimeout(timer);
			resolve();
		});
		// A keep-alive client must not delay the stop. Its connection is closed as soon as it has its answer.
		server.keepAliveTimeout = 1;
		server.keepAliveTimeoutBuffer = 0;
		server.closeIdleConnections();
	});
}
