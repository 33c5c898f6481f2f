// Clients that never finish. Each holds its connection, sends or reads a few bytes now and then, and reconnects when
// it is closed. They need their own process, because the flooded process must not spend time on the flood itself.

import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { serveParent } from "../support/forked-process.ts";

export interface SlowClientsOrder {
	/** Address to connect to, with or without TLS. */
	url: string;
	/**
	 * Part of the exchange that never ends: the head that the client sends, the body that it sends, or the
	 * answer that it reads.
	 */
	what: "head" | "body" | "answer";
	connections: number;
	/** Loopback addresses that the clients use in turn. */
	addresses: readonly string[];
}

/**
 * Time after which a closed connection is opened again. With 2,500 closed connections this makes 800 new ones
 * a second.
 */
const AGAIN_AFTER_MS = 3_000;
/**
 * Maximum number of connections that are opened at once. Connections beyond the system's accept queue would
 * be lost before the service sees them.
 */
const AT_ONCE = 100;
/** Interval at which a client sends or reads a few bytes. It is short enough that no idle timeout applies. */
const TRICKLE_MS = 1_000;

const FIRST_BYTES: Record<SlowClientsOrder["what"], string> = {
	head: "GET / HTTP/1.1\r\nHost: ",
	body: `POST /v1/conversions HTTP/1.1\r\nHost: flood\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n${"[".repeat(50_000)}`,
	// The longest pages that strangers can request.
	answer: ["/openapi.json", "/docs/api", "/docs", "/assets/htmx.js"]
		.map((path) => `GET ${path} HTTP/1.1\r\nHost: flood\r\n\r\n`)
		.join(""),
};

/** Total number of connections so far. */
let opened = 0;

/** Opens and holds one connection. Resolves when the client is connected, or could not connect. */
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
		// The error is ignored, because the service is expected to close the connection.
		socket.on("error", () => undefined);
		socket.once("close", () => {
			clearInterval(trickle);
			setTimeout(() => void hold(order, localAddress), AGAIN_AFTER_MS);
			resolve();
		});
	});
}

serveParent<null, SlowClientsOrder, number>(null, async (order) => {
	for (let opened = 0; opened < order.connections; opened += AT_ONCE) {
		const now = Math.min(AT_ONCE, order.connections - opened);
		await Promise.all(
			Array.from({ length: now }, (_, n) =>
				hold(order, order.addresses[(opened + n) % order.addresses.length] ?? "127.0.0.1"),
			),
		);
	}
	return opened;
});
