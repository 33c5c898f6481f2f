// Keeps a listener's connections within their bounds: connections that are too many are hung up on before a byte of
// them is read. Which ones is decided by domain/connection-table.ts.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type AddressRange, isInRanges } from "../domain/address.ts";
import { findClientAddress, networkOf } from "../domain/client-address.ts";
import { type ConnectionBounds, ConnectionTable } from "../domain/connection-table.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { Log } from "../ports.ts";

export interface GuardOptions {
	bounds: ConnectionBounds;
	/** They carry everybody, so that no bound of one address holds for them. */
	trustedProxies: readonly AddressRange[];
	log: Log;
}

/** A flood is one line a minute, not one a connection. */
const LOG_INTERVAL_MS = MINUTE_MS;

export function guardConnections(server: Server, { bounds, trustedProxies, log }: GuardOptions): void {
	const table = new ConnectionTable<Socket>(bounds);
	const tell = createTeller(log, bounds);

	// Before Node's own listener: it would begin to read.
	server.prependListener("connection", (socket: Socket) => {
		const address = findClientAddress(socket.remoteAddress, undefined, []);
		const network = isInRanges(address, trustedProxies) ? null : networkOf(address);
		const { isAccepted, dropped } = table.open(socket, network, performance.now());
		// By a reset: a polite end would leave us the remains of every one for a minute.
		for (const old of dropped) old.resetAndDestroy();
		if (isAccepted) socket.once("close", () => table.close(socket));
		else socket.resetAndDestroy();
		if (!isAccepted || dropped.length > 0) tell(address, isAccepted);
	});
	server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
		table.noteHead(socket);
		response.once("close", () => table.noteAnswer(socket));
	});
}

function createTeller(log: Log, bounds: ConnectionBounds): (address: string, isAccepted: boolean) => void {
	let toldAtMs = Number.NEGATIVE_INFINITY;
	let refused = 0;
	let replaced = 0;
	return (address, isAccepted) => {
		if (isAccepted) replaced++;
		else refused++;
		const nowMs = performance.now();
		if (nowMs - toldAtMs < LOG_INTERVAL_MS) return;
		log.warn(
			{ address, refused, replaced, bounds },
			"too many connections: some were refused, or took the place of others that had sent no request. If they come from your own proxy, add its address to RINGBACK_TRUSTED_PROXIES",
		);
		toldAtMs = nowMs;
		refused = 0;
		replaced = 0;
	};
}
