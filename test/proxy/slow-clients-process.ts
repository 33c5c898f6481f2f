// Clients who never finish: each holds its connection, gives or takes a few bytes now and then, and comes back when it is
// hung up on. In a process of its own: whoever is flooded must not have to do the flooding too.

import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { serveParent } from "../support/forked-process.ts";

export interface SlowClientsOrder {
	/** Where they connect to, by TLS or not. */
	url: string;
	/** What never ends on each connection: the head it sends, the body it sends, or the answer it reads. */
	what: "head" | "body" | "answer";
	connections: number;
	/** Of the loopback, from which they come in turn. */
	addresses: readonly string[];
}

/** Of 2,500 connections that are all hung up on, that makes 800 a second. */
const AGAIN_AFTER_MS = 3_000;
/** Fewer than a system lets wait to be accepted: more at once would be lost before the service sees them. */
const AT_ONCE = 100;
/** Often enough that no time for silence ends it. */
const TRICKLE_MS = 1_000;

const FIRST_BYTES: Record<SlowClientsOrder["what"], string> = {
	head: "GET / HTTP/1.1\r\nHost: ",
	body: `POST /v1/conversions HTTP/1.1\r\nHost: flood\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n${"[".repeat(50_000)}`,
	// The longest there are for strangers.
	answer: ["/openapi.json", "/docs/api", "/docs", "/assets/htmx.js"]
		.map((path) => `GET ${path} HTTP/1.1\r\nHost: flood\r\n\r\n`)
		.join(""),
};

/** Connections they have had in all. */
let opened = 0;

/** Resolves when it is connected, or could not be. */
function hold(order: SlowClientsOrder, localAddress: string): Promise<void> {
	const { protocol, hostname: host, port } = new URL(order.url);
	return new Promise((resolve) => {
		const to = { host, port: Number(port), localAddress };
		const isTls = protocol === "https:";
		const socket: Socket = isTls ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to);
		let isOpen = false;
		const trickle = setInterval(() => {
			if (order.what === "answer") socket.read(64);
			else if (isOpen) socket.write("[");
		}, TRICKLE_MS);
		socket.once(isTls ? "secureConnect" : "connect", () => {
			isOpen = true;
			opened++;
			socket.write(FIRST_BYTES[order.what]);
			if (order.what !== "answer") socket.resume();
			resolve();
		});
		// Being hung up on is what it is here for.
		socket.on("error", () => undefined);
		socket.once("close", () => {
			clearInterval(trickle);
			setTimeout(() => void hold(order, localAddress), AGAIN_AFTER_MS);
			resolve();
		});
	});
}

serveParent<null, SlowClientsOrder, number>(null, async (order) => {
	for (let made = 0; made < order.connections; made += AT_ONCE) {
		const now = Math.min(AT_ONCE, order.connections - made);
		await Promise.all(
			Array.from({ length: now }, (_, n) =>
				hold(order, order.addresses[(made + n) % order.addresses.length] ?? "127.0.0.1"),
			),
		);
	}
	return opened;
});
