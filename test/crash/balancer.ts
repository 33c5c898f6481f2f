// A load balancer as they all are: it asks each service whether it is ready, a few times a second, sends requests only to
// those that have said so just now, and repeats none. What a service refuses or breaks off is what a shop would see.

import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { portOf } from "../support/port-of.ts";

export type Balancer = Awaited<ReturnType<typeof startBalancer>>;

const ASK_EVERY_MS = 100;
/** A word that is older was perhaps true before this machine was busy with something else: it is asked for again. */
const GOOD_FOR_MS = 300;

/** `services`: where they are, also those that start or stop just now. */
export async function startBalancer(services: () => readonly string[]) {
	/** When those were asked that said yes. */
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
		/** How many requests each service has had. */
		forwarded,
		/** Requests that a service did not answer, in words. */
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

/** On a connection of its own each time: what it says is about newcomers. */
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
