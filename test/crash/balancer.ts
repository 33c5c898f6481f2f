// A simple load balancer. It asks each service a few times a second whether it is ready, and forwards
// requests only to services that were ready just now. It never retries a request, so a shop would see every
// refused or broken one.

import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { portOf } from "../support/port-of.ts";

export type Balancer = Awaited<ReturnType<typeof startBalancer>>;

const ASK_EVERY_MS = 100;
/**
 * Maximum age of an answer to a readiness check. If it is older because this machine was busy, the service is
 * asked again.
 */
const GOOD_FOR_MS = 300;

/**
 * Starts the load balancer. `services` returns the addresses of all services, including those that are
 * starting or stopping.
 */
export async function startBalancer(services: () => readonly string[]) {
	/** Time of the last check of each service that answered that it is ready. */
	const readyAtMs = new Map<string, number>();
	const forwarded = new Map<string, number>();
	const broken: string[] = [];
	const agent = new Agent({ keepAlive: true });
	let isClosing = false;
	let calls = 0;

	async function askAll(): Promise<void> {
		await Promise.all(
			services().map(async (service) => {
				const askedAtMs = performance.now();
				const isReady = await asksReady(service);
				if (isReady) readyAtMs.set(service, askedAtMs);
				else readyAtMs.delete(service);
			}),
		);
	}

	async function pick(): Promise<string | null> {
		while (!isClosing) {
			const ready = services().filter(
				(service) => performance.now() - (readyAtMs.get(service) ?? Number.NEGATIVE_INFINITY) < GOOD_FOR_MS,
			);
			const service = ready[calls++ % Math.max(1, ready.length)];
			if (service !== undefined) return service;
			await askAll();
			if (readyAtMs.size === 0) await wait(ASK_EVERY_MS);
		}
		return null;
	}

	async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
		const body = Buffer.concat(await incoming.toArray());
		const service = await pick();
		if (service === null) return void outgoing.destroy();
		forwarded.set(service, (forwarded.get(service) ?? 0) + 1);
		const { connection: _, ...headers } = incoming.headers;
		const asking = request(service + incoming.url, { method: incoming.method, headers, agent }, (answer) => {
			outgoing.writeHead(answer.statusCode ?? 502, { "content-type": answer.headers["content-type"] ?? "" });
			answer.on("error", () => outgoing.destroy()).pipe(outgoing);
		});
		asking.on("error", (error) => {
			broken.push(`${incoming.method} ${incoming.url} at ${service}: ${error.message}`);
			outgoing.destroy();
		});
		asking.end(body);
	}

	const server = createServer((incoming, outgoing) => {
		forward(incoming, outgoing).catch(() => outgoing.destroy());
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const asking = setInterval(() => void askAll(), ASK_EVERY_MS);
	return {
		url: `http://127.0.0.1:${portOf(server)}`,
		/** Number of forwarded requests by service. */
		forwarded,
		/** Descriptions of requests that a service did not answer. */
		broken,
		async close() {
			isClosing = true;
			clearInterval(asking);
			const closed = new Promise<void>((resolve) => server.close(() => resolve()));
			server.closeAllConnections();
			agent.destroy();
			await closed;
		},
	};
}

/**
 * Asks a service whether it is ready. Each check uses a new connection, because the answer must be true for
 * new clients.
 */
function asksReady(service: string): Promise<boolean> {
	return new Promise((resolve) => {
		request(`${service}/readyz`, { agent: false, timeout: 5_000 }, (answer) => {
			answer.resume();
			resolve(answer.statusCode === 200);
		})
			.on("error", () => resolve(false))
			.on("timeout", () => resolve(false))
			.end();
	});
}
