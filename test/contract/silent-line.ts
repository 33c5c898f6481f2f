// A line to a PostgreSQL that can fall silent: as if the server were frozen, or as if a firewall had forgotten it.

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { portOf } from "../support/port-of.ts";

/** "hold": what is sent arrives after the thaw. "lose": it never does, nor does anything else on the same connection. */
export type Freeze = "hold" | "lose";

export async function openLine(databaseUrl: string) {
	const target = new URL(databaseUrl);
	const sockets = new Set<Socket>();
	const lost = new WeakSet<Socket>();
	let frozen: Freeze | null = null;

	function carry(from: Socket, to: Socket): void {
		sockets.add(from);
		from.on("data", (bytes) => lost.has(from) || to.write(bytes));
		from.on("end", () => lost.has(from) || to.end());
		// Whoever breaks off has closed its end: the other hears of it by "end", or by the end of the test.
		from.on("error", () => undefined);
		from.on("close", () => sockets.delete(from));
		if (frozen !== null) silence(from, frozen);
	}

	function silence(socket: Socket, how: Freeze): void {
		if (how === "hold") socket.pause();
		else lost.add(socket);
	}

	const server = createServer((socket) => {
		const onwards = connect(Number(target.port), target.hostname);
		carry(socket, onwards);
		carry(onwards, socket);
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	const url = new URL(databaseUrl);
	url.host = `127.0.0.1:${portOf(server)}`;
	return {
		/** The same database, over this line. */
		url: url.href,
		/** From now on nothing arrives at either end; new connections are taken, and nothing arrives there either. */
		freeze(how: Freeze) {
			frozen = how;
			for (const socket of sockets) silence(socket, how);
		},
		thaw() {
			frozen = null;
			for (const socket of sockets) socket.resume();
		},
		async close() {
			for (const socket of sockets) socket.destroy();
			server.close();
			await once(server, "close");
		},
	};
}
