// A stranger who sends requests without end and reads no answer. In a process of its own: whoever is flooded must not
// have to do the flooding too.

import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { serveParent } from "../support/forked-process.ts";

export interface FloodOrder {
	port: number;
	connections: number;
	/** On each connection, all at once. */
	requests: number;
	/** How often each connection is opened again once it has been hung up on. */
	rounds: number;
	/** Asked for in turn. */
	paths: readonly string[];
}

/** Answers with how many connections were hung up on: all, or it does not answer. */
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

/** With a key that nobody has: each has to be looked up. */
function writeRequest(path: string): string {
	return `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${randomBytes(6).toString("hex")}\r\n\r\n`;
}

/** Resolves when it is hung up on. */
function send(port: number, text: string): Promise<void> {
	return new Promise((resolve) => {
		const socket = connect(port, "127.0.0.1", () => socket.write(text));
		// It is hung up on: that is the point.
		socket.on("error", () => undefined);
		socket.once("close", () => resolve());
	});
}
