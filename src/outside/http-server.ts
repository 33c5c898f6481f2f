// The listening socket.

import type { Server } from "node:http";
import { serve } from "@hono/node-server";

/** Headers and body of one inbound request; slow senders do not get to keep a socket. */
const REQUEST_TIMEOUT_MS = 15_000;
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
): Promise<HttpServer> {
	return new Promise((resolve, reject) => {
		const server = serve({ fetch, hostname: host, port }, (address) => {
			server.off("error", reject);
			const shownHost = address.family === "IPv6" ? `[${address.address}]` : address.address;
			resolve({ url: `http://${shownHost}:${address.port}`, close: () => closeServer(server as Server) });
		});
		(server as Server).requestTimeout = REQUEST_TIMEOUT_MS;
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
