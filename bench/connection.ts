// A reused HTTPS connection that carries one request at a time.

import { Client } from "undici";

/**
 * Number of connections at which bare-loop.ts, the program that measures the limit of the machine, is
 * fastest. More connections only cost time (with 64, five microseconds more per request).
 */
export const CONNECTIONS = 16;

export function openConnection(origin: string, ca: string): Client {
	return new Client(origin, {
		connect: { ca },
		allowH2: false,
		pipelining: 1,
		// Timeouts are switched off as in the service, which has deadlines of its own.
		headersTimeout: 0,
		bodyTimeout: 0,
	});
}
