// A kept HTTPS connection that carries one request at a time.

import { Client } from "undici";

/** The bare loop is at its fastest with this many; more connections only cost (64: five microseconds a request). */
export const CONNECTIONS = 16;

export function openConnection(origin: string, ca: string): Client {
	return new Client(origin, {
		connect: { ca },
		allowH2: false,
		pipelining: 1,
		// As the service has it: its deadline is its own.
		headersTimeout: 0,
		bodyTimeout: 0,
	});
}
