// Keeps a listener's connections within their bounds: connections that are too many are hung up on before a byte of
// them is read, and so are those that ask more than they wait for, or never take their answer. Which ones is decided
// by outside/connection-table.ts.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type AddressRange, isInRanges } from "../domain/address.ts";
import { findClientAddress, networkOf } from "../domain/client-address.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { Log } from "../ports.ts";
import { type ConnectionBounds, ConnectionTable } from "./connection-table.ts";
import { RequestQueues, type ServeRequest } from "./request-queues.ts";

export interface GuardOptions {
	serve: ServeRequest;
	bounds: ConnectionBounds;
	unreadTimeoutMs: number;
	/** They carry everybody, so that no bound of one address holds for them. */
	trustedProxies: readonly AddressRange[];
	/** Whether an answer is to be the last one on its connection. */
	isEnding(): boolean;
	log: Log;
}

/** A flood is one line a minute, not one a connection. */
const LOG_INTERVAL_MS = MINUTE_MS;

export function guardConnections(server: Server, options: GuardOptions): void {
	const { serve, bounds, unreadTimeoutMs, trustedProxies, isEnding, log } = options;
	const table = new ConnectionTable<Socket>(bounds);
	const begin: ServeRequest = (incoming, outgoing) => {
		// What is asked already is answered first: Node would drop it with the connection.
		if (isEnding() && !queues.hasWaiting(incoming.socket)) outgoing.setHeader("connection", "close");
		serve(incoming, outgoing);
	};
	const queues = new RequestQueues(begin);
	const tell = createTeller(log, bounds);

	// Before Node's own listener: it would begin to read.
	server.prependListener("connection", (socket: Socket) => {
		const address = addressOf(socket);
		const network = isInRanges(address, trustedProxies) ? null : networkOf(address);
		const { isAccepted, dropped } = table.open(socket, network, performance.now());
		// By a reset: a polite end would leave us the remains of every one for a minute.
		for (const old of dropped) old.resetAndDestroy();
		if (!isAccepted) socket.resetAndDestroy();
		else {
			socket.once("close", () => {
				table.close(socket);
				queues.forget(socket);
			});
		}
		if (!isAccepted) tell(address, "refused");
		else if (dropped.length > 0) tell(address, "replaced");
	});
	const take = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
		const { socket } = incoming;
		const start = table.noteHead(socket);
		if (start === "never") {
			// Node goes through all it has read of a connection, also when that has been hung up on meanwhile.
			if (socket.destroyed) return;
			tell(addressOf(socket), "overfull");
			socket.resetAndDestroy();
			return;
		}
		outgoing.once("close", () => {
			table.noteAnswer(socket);
			queues.goOn(socket);
		});
		if (start === "now") begin(incoming, outgoing);
		else queues.add(socket, incoming, outgoing);
	};
	server.on("request", take);
	// A header that asks for something unheard of. Node would answer it by itself, any number of times.
	server.on("checkExpectation", take);
	// Nothing came and nothing went on a connection for so long. Node's own time for idle ones ends here too.
	server.setTimeout(unreadTimeoutMs, (socket: Socket) => {
		if (socket.writableLength > 0) socket.resetAndDestroy();
		else if (!table.isBusy(socket)) socket.destroy();
	});
}

function addressOf(socket: Socket): string {
	return findClientAddress(socket.remoteAddress, undefined, []);
}

type HangUp = "refused" | "replaced" | "overfull";

function createTeller(log: Log, bounds: ConnectionBounds): (address: string, why: HangUp) => void {
	let toldAtMs = Number.NEGATIVE_INFINITY;
	let counts = { refused: 0, replaced: 0, overfull: 0 };
	return (address, why) => {
		counts[why]++;
		const nowMs = performance.now();
		if (nowMs - toldAtMs < LOG_INTERVAL_MS) return;
		log.warn(
			{ address, ...counts, bounds },
			"too many connections, or too many requests at a time on one: some were refused, took the place of others that had sent no request, or were hung up on. If they come from your own proxy, add its address to RINGBACK_TRUSTED_PROXIES",
		);
		toldAtMs = nowMs;
		counts = { refused: 0, replaced: 0, overfull: 0 };
	};
}
