// Listeners where nobody may ever call: one connection to any of them is a broken promise.

import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { readErrorCode } from "../../src/outside/error-code.ts";

export interface Canary {
	readonly address: string;
	readonly port: number;
	/** Connections accepted. */
	readonly calls: number;
}

export interface Canaries {
	readonly all: readonly Canary[];
	/** Undefined where this machine does not have the address. Zero: whatever port is free. */
	listen(address: string, port?: number): Promise<Canary | undefined>;
	close(): Promise<void>;
}

/** Some systems have 127.0.0.1 alone of its network, some have no IPv6, and broadcast is nowhere one's own. */
const NOT_OURS = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT", "EINVAL", "EACCES"]);

export function openCanaries(): Canaries {
	const servers: Server[] = [];
	const all: Canary[] = [];
	return {
		all,
		async listen(address, port = 0) {
			let calls = 0;
			const server = createServer((socket) => {
				calls += 1;
				socket.destroy();
			});
			try {
				server.listen({ host: address, port, exclusive: true });
				await once(server, "listening");
			} catch (error) {
				if (NOT_OURS.has(readErrorCode(error))) return undefined;
				throw error;
			}
			servers.push(server);
			const bound = server.address();
			if (bound === null || typeof bound === "string") throw new Error(`${address} gave no port`);
			const canary: Canary = {
				address,
				port: bound.port,
				get calls() {
					return calls;
				},
			};
			all.push(canary);
			return canary;
		},
		async close() {
			await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
		},
	};
}
