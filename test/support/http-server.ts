// An HTTP server of a test's own, until the test ends.

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { portOf } from "./port-of.ts";

export interface Cleaning {
	after(clean: () => Promise<void>): void;
}

/** Gives its origin. */
export async function startHttpServer(
	t: Cleaning,
	listener: RequestListener,
	host = "127.0.0.1",
): Promise<string> {
	const server = createServer(listener).listen(0, host);
	await once(server, "listening");
	t.after(async () => {
		const closed = once(server, "close");
		server.close();
		server.closeAllConnections();
		await closed;
	});
	return `http://${host}:${portOf(server)}`;
}
