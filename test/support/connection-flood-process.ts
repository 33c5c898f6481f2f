// Somebody who opens connections to this machine, sends half of a request head on each, and comes back whenever one
// is hung up on. In a process of its own: whoever is flooded must not have to do the flooding too.

import { connect } from "node:net";
import { CONNECTION_FLOOD_MESSAGES } from "./connection-flood-messages.ts";
import { serveParent } from "./forked-process.ts";

/** Of 2,500 connections that are all hung up on, that makes 800 a second. */
const AGAIN_AFTER_MS = 3_000;
/** Fewer than a system lets wait to be accepted: more at once would be lost before the service sees them. */
const AT_ONCE = 100;

let open = 0;
let opened = 0;

/** Resolves when it is connected, or could not be. */
function hold(port: number): Promise<void> {
	return new Promise((resolve) => {
		const socket = connect(port, "127.0.0.1");
		let isOpen = false;
		socket.once("connect", () => {
			isOpen = true;
			open++;
			opened++;
			socket.write("GET / HTTP/1.1\r\nHost: ");
			resolve();
		});
		// Being hung up on is what it is here for.
		socket.on("error", () => undefined);
		socket.resume();
		socket.once("close", () => {
			if (isOpen) open--;
			setTimeout(() => void hold(port), AGAIN_AFTER_MS);
			resolve();
		});
	});
}

serveParent(CONNECTION_FLOOD_MESSAGES, null, async (order) => {
	if (order.kind === "flood") {
		for (let made = 0; made < order.connections; made += AT_ONCE) {
			const now = Math.min(AT_ONCE, order.connections - made);
			await Promise.all(Array.from({ length: now }, () => hold(order.port)));
		}
	}
	return { open, opened };
});
