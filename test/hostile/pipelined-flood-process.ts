// A client that sends requests endlessly and reads no answer. It runs in its own process, because the flooded
// process must not spend time on the flood itself.

import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { serveParent } from "../support/forked-process.ts";

export interface FloodOrder {
	port: number;
	connections: number;
	/** Number of requests that are sent at once on each connection. */
	requests: number;
	/** Number of times that each connection is opened again after the service closed it. */
	rounds: number;
	/** Paths of the requests, used in turn. */
	paths: readonly string[];
}

/**
 * Replies with the number of connections that the service closed. There is no reply unless it closed all of
 * them.
 */
serveParent<null, FloodOrder, number>(null, async ({ port, connections, requests, rounds, paths }) => {
	const text = Array.from({ length: requests }, (_, n) => writeRequest(paths[n % paths.length] ?? "/")).join(
		"",
	);
	const senders = Array.from({ length: connections }, async () => {
		for (let round = 0; round < rounds; round++) await send(port, text);
	});
	await Promise.all(senders);
	return connections * rounds;
});

/** Returns a request with an unknown key, which the service must look up each time. */
function writeRequest(path: string): string {
	return `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${randomBytes(6).toString("hex")}\r\n\r\n`;
}

/** Sends the text on a new connection. Resolves when the service closes the connection. */
function send(port: number, text: string): Promise<void> {
	return new Promise((resolve) => {
		const socket = connect(port, "127.0.0.1", () => socket.write(text));
		// The service is expected to close the connection.
		socket.on("error", () => undefined);
		socket.once("close", () => resolve());
	});
}
