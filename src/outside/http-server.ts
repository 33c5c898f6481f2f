// The listening socket.

import type { Server } from "node:http";
import { serve } from "@hono/node-server";

export interface HttpLimits {
	/** From the first byte, or from the connection where none comes. */
	headersTimeoutMs: number;
	/** Headers and body together; slow senders do not get to keep a socket. */
	requestTimeoutMs: number;
}

/** Headers come in one piece, also over a bad line; 40,000 decisions are some 3 MB, which takes 2 Mbit/s. */
const LIMITS: HttpLimits = { headersTimeoutMs: 10_000, requestTimeoutMs: 15_000 };
/** How late a limit may hold. Node looks every 30 seconds by itself, so that 15 seconds would be up to 45. */
const LIMITS_CHECK_INTERVAL_MS = 1_000;
/** Half of 4,096 file descriptors: callers who only hold connections must leave enough for the callbacks. */
const MAX_CONNECTIONS = 2_048;
/** On closing: as long as a callback in flight may take, so that a stop waits for neither longer than that. */
const CLOSE_TIMEOUT_MS = 5_000;

export interface HttpServer {
	url: string;
	/** Answers what has been asked, takes nothing new. Whoever has not finished asking in time is hung up on. */
	close(): Promise<void>;
}

export function listen(
	fetch: (request: Request, env: object) => Response | Promise<Response>,
	host: string,
	port: number,
	{ headersTimeoutMs, requestTimeoutMs }: HttpLimits = LIMITS,
): Promise<HttpServer> {
	return new Promise((resolve, reject) => {
		const serverOptions = {
			headersTimeout: headersTimeoutMs,
			requestTimeout: requestTimeoutMs,
			connectionsCheckingInterval: LIMITS_CHECK_INTERVAL_MS,
		};
		const server = serve({ fetch, hostname: host, port, serverOptions }, (address) => {
			server.off("error", reject);
			const shownHost = address.family === "IPv6" ? `[${address.address}]` : address.address;
			resolve({ url: `http://${shownHost}:${address.port}`, close: () => closeServer(server as Server) });
		});
		server.maxConnections = MAX_CONNECTIONS;
		server.once("error", reject);
	});
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
