// A stranger who sends requests endlessly and reads no answer. It needs its own process, because the flooded process
// must not spend time on the flood itself.

import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { serveParent } from "../support/forked-process.ts";

export interface FloodOrder {
	port: number;
	connections: number;
	/** Number of requests on each connection, sent at once. */
	requests: number;
	/** Number of times that each connection is opened again after it was closed. */
	rounds: number;
	/** Paths that are requested in turn. */
	paths: readonly string[];
}

/** Answers with the number of connections that were closed: all of them, or there is no answer. */
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

/** An unknown key, which the service must look up each time. */
function writeRequest(path: string): string {
	return `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${randomBytes(6).toString("hex")}\r\n\r\n`;
}

/** Resolves when the service closes the connection. */
function send(port: number, text: string): Promise<void> {
	return new Promise((resolve) => {
		const socket = connect(port, "127.0.0.1", () => socket.write(text));
		// The service closes the connection, as it should.
		socket.on("error", () => undefined);
		socket.once("close", () => resolve());
	});
}
