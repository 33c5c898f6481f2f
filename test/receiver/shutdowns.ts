// Programs that stop as the README says, in addition to the README's own. Their work begins and waits for
// SIGUSR2.

/** The timer keeps the process alive, as a database connection would. A signal handler alone does not. */
export const WAITING_WORK = `async function work(event) {
	const connection = setInterval(() => undefined, 1000);
	const done = new Promise((resolve) => process.once("SIGUSR2", resolve));
	console.log("begun");
	await done;
	clearInterval(connection);`;

const START = `
	import { createReceiver } from "@ringback/receiver";
	const receiver = createReceiver({ secret: process.env.RINGBACK_SIGNING_SECRET, onEvent: work });
	${WAITING_WORK}
		console.log(event.event + " for order " + event.orderId);
	}
`;

export const SHUTDOWNS: readonly { title: string; source: string }[] = [
	{
		title: "node:http",
		source: `${START}
			import { createServer } from "node:http";
			const server = createServer(receiver.node).listen(0, "127.0.0.1");
			process.once("SIGTERM", () => server.close(async () => { await receiver.settled(); process.exit(); }));`,
	},
	{
		title: "Fastify",
		source: `${START}
			import { createFastifyReceiver } from "@ringback/receiver/fastify";
			import Fastify from "fastify";
			const app = Fastify();
			app.register(createFastifyReceiver({ url: "/postback", ...receiver }));
			await app.listen({ port: 0, host: "127.0.0.1" });
			process.once("SIGTERM", async () => { await app.close(); await receiver.settled(); process.exit(); });`,
	},
	{
		title: "Hono",
		source: `${START}
			import { serve } from "@hono/node-server";
			import { createHonoReceiver } from "@ringback/receiver/hono";
			import { Hono } from "hono";
			const app = new Hono().all("/postback", createHonoReceiver(receiver));
			const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 });
			process.once("SIGTERM", () => server.close(async () => { await receiver.settled(); process.exit(); }));`,
	},
];
