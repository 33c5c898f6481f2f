import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Log } from "#core/ports.ts";
import { guardConnections, type ServeRequest } from "./connection-guard.ts";
import { RecordedResponse, type RecordingOptions, recordRequests } from "./request-records.ts";

export interface HttpLimits {
	/**
	 * Time limit for the headers, counted from their first byte, or from the start of the connection for its first
	 * request.
	 */
	headersTimeoutMs: number;
	/** Time limit for headers and body together, so that slow senders cannot hold a socket. */
	requestTimeoutMs: number;
	/** Maximum time that a connection may be idle between two requests. */
	idleTimeoutMs: number;
	/**
	 * Maximum number of connections. Streams and uploads are not counted, because the app limits them itself.
	 */
	maxConnections: number;
}

export const PUBLIC_LIMITS: HttpLimits = {
	// Headers arrive in one piece even over a slow line. The largest body, an upload of 40,000 decisions, is about 3 MB,
	// which arrives in time at 2 Mbit/s.
	headersTimeoutMs: 10_000,
	requestTimeoutMs: 15_000,
	// Proxies and load balancers keep idle connections for a minute. The service must keep them longer, because
	// a request is lost if the service closes the connection while the request is on its way.
	idleTimeoutMs: 75_000,
	// The limit is half of 4,096 file descriptors, so that idle callers leave enough descriptors for the
	// callbacks.
	maxConnections: 2_048,
};

/** Limits of the metrics listener, which serves a few metrics collectors and people with curl. */
export const METRICS_LIMITS: HttpLimits = {
	headersTimeoutMs: 5_000,
	requestTimeoutMs: 5_000,
	idleTimeoutMs: 5_000,
	maxConnections: 64,
};

/**
 * Time between two checks of the time limits. With Node's default of 30 seconds, a limit of 15 seconds could
 * become 45.
 */
const LIMITS_CHECK_INTERVAL_MS = 1_000;
/**
 * Time to wait for open requests when the server closes. It is the deadline of a callback, for which a stop
 * waits anyway.
 */
const CLOSE_TIMEOUT_MS = 5_000;

export interface ListenOptions {
	host: string;
	port: number;
	limits: HttpLimits;
	log: Log;
	/** Options for counting and logging requests. If left out, requests are neither counted nor logged. */
	recording?: RecordingOptions;
}

export interface BareAnswer {
	status: number;
	headers: Readonly<Record<string, string>>;
}

export interface ServedApp {
	fetch: (request: Request, env: object) => Response | Promise<Response>;
	/**
	 * Answers a request of a kind that arrives thousands of times a second. Returns null for all other
	 * requests, which take the normal route.
	 */
	answerAtOnce?(incoming: IncomingMessage): BareAnswer | null;
}

export interface HttpServer {
	url: string;
	port: number;
	/**
	 * Starts to serve requests. Requests that arrived earlier wait for this call, because an app may need to
	 * know the port before it can be created.
	 */
	serve(app: ServedApp): void;
	/** Makes the next answer on each connection the last one, so that clients reconnect to another process. */
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
				// The request takes the normal route after this. There the same failure occurs again, is logged and gets an
				// error answer.
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
 * Computes the answers of all requests that arrived together, and then writes all of them. This halves the
 * processor time of a click (docs/performance.md, C1), because alternating between computing and writing
 * evicts the processor's caches.
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
 * Rejects if the port is taken. The service calls this before it creates anything. The function listens for a moment,
 * but answers no request.
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
		// This timer replaces Node's own check of the time limits of requests, which ends when the server begins to close.
		const timer = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS);
		server.close(() => {
			clearTimeout(timer);
			resolve();
		});
		// A keep-alive client must not delay the stop, so its connection is closed right after its answer.
		server.keepAliveTimeout = 1;
		server.keepAliveTimeoutBuffer = 0;
		server.closeIdleConnections();
	});
}
