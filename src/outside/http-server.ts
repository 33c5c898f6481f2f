// The listening socket.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Log } from "../ports.ts";
import { guardConnections, type ServeRequest } from "./connection-guard.ts";
import { RecordedResponse, type RecordingOptions, recordRequests } from "./request-records.ts";

export interface HttpLimits {
	/** From the first byte, or from the connection where none comes. */
	headersTimeoutMs: number;
	/** Headers and body together; slow senders do not get to keep a socket. */
	requestTimeoutMs: number;
	/** How long a connection may wait for its next request. */
	idleTimeoutMs: number;
	/** Streams and uploads not counted: their own bounds are the app's. */
	maxConnections: number;
}

/** The public listener's. */
export const PUBLIC_LIMITS: HttpLimits = {
	// Headers come in one piece, also over a bad line; 40,000 decisions are some 3 MB, which takes 2 Mbit/s.
	headersTimeoutMs: 10_000,
	requestTimeoutMs: 15_000,
	// Proxies and load balancers keep theirs for a minute. Whoever hangs up first must be them: a request that crosses
	// our hanging up is lost.
	idleTimeoutMs: 75_000,
	// Half of 4,096 file descriptors: callers who only hold connections must leave enough for the callbacks.
	maxConnections: 2_048,
};

/** The metrics listener's: a few collectors, and somebody with curl. */
export const METRICS_LIMITS: HttpLimits = {
	headersTimeoutMs: 5_000,
	requestTimeoutMs: 5_000,
	idleTimeoutMs: 5_000,
	maxConnections: 64,
};

/** How late a limit may hold. Node looks every 30 seconds by itself, so that 15 seconds would be up to 45. */
const LIMITS_CHECK_INTERVAL_MS = 1_000;
/** On closing: as long as a callback in flight may take, so that a stop waits for neither longer than that. */
const CLOSE_TIMEOUT_MS = 5_000;

export interface ListenOptions {
	host: string;
	port: number;
	limits: HttpLimits;
	log: Log;
	/** Nobody counts or logs what is asked here unless told. */
	recording?: RecordingOptions;
}

/** Without a body. */
export interface BareAnswer {
	status: number;
	headers: Readonly<Record<string, string>>;
}

export interface ServedApp {
	fetch: (request: Request, env: object) => Response | Promise<Response>;
	/** For the few things that come thousands of times a second; null for what is to go the way of all requests. */
	answerAtOnce?(incoming: IncomingMessage): BareAnswer | null;
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
				// It fails in the same way on the way of all requests, where it is logged and answered.
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
 * What arrived together is thought out together and then written together, each step once for all: a click takes half the
 * processor time so (docs/performance.md, C1). One by one, every step finds the processor's caches full of the others.
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

/** Rejects as listening would: to be asked before anything is made. Nobody is answered meanwhile. */
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
