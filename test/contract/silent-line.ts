// A connection to PostgreSQL that can fall silent, as if the server were frozen or a firewall had dropped the
// connection, and that can be slow, as if the server were on another continent.

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { portOf } from "../support/port-of.ts";

/** Kinds of silence. "hold" delivers all data after the thaw. "lose" never delivers it on this connection. */
export type Freeze = "hold" | "lose";

export async function openFreezableLine(databaseUrl: string) {
	let target = new URL(databaseUrl);
	const sockets = new Set<Socket>();
	const lost = new WeakSet<Socket>();
	let frozen: Freeze | null = null;
	let delayMs = 0;

	/**
	 * Sends the data after the current delay. The order stays the same, because timers of equal length fire in
	 * order.
	 */
	function pass(send: () => void): void {
		if (delayMs === 0) send();
		else setTimeout(send, delayMs);
	}

	function carry(from: Socket, to: Socket): void {
		sockets.add(from);
		from.on("data", (bytes) => lost.has(from) || pass(() => to.write(bytes)));
		from.on("end", () => lost.has(from) || pass(() => to.end()));
		// The error is ignored. The other side learns of a broken connection by "end", or is closed at the end of
		// the test.
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
		/** URL of the same database over this connection. */
		url: url.href,
		/** Stops all data in both directions. New connections are accepted, but no data passes on them either. */
		freeze(how: Freeze) {
			frozen = how;
			for (const socket of sockets) silence(socket, how);
		},
		thaw() {
			frozen = null;
			for (const socket of sockets) socket.resume();
		},
		/** Delays all data, so that a round trip takes this much longer. */
		slowDown(roundTripMs: number) {
			delayMs = roundTripMs / 2;
		},
		/** Leads new connections to another server. Existing ones stay where they are, unless they are cut. */
		leadTo(otherUrl: string, { isCut }: { isCut: boolean }) {
			target = new URL(otherUrl);
			if (isCut) for (const socket of sockets) socket.destroy();
		},
		async close() {
			for (const socket of sockets) socket.destroy();
			server.close();
			await once(server, "close");
		},
	};
}
