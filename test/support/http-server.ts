// Starts an HTTP server that is closed when the test ends.

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { portOf } from "./port-of.ts";

export interface Cleaning {
	after(clean: () => Promise<void>): void;
}

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
