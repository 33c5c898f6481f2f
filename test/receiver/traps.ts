// Cases in which a framework changes a request before it reaches the receiver. Each case has a small program,
// the status that it must answer to a genuine delivery, and the line that it must log.

interface Trap {
	title: string;
	source: string;
	/** Path of the delivery, /postback by default. */
	path?: string;
	status: number;
	log: RegExp;
}

const WORKED = /^worked on A-1001$/m;
const READ_BEFORE = /The body was read before it came to the receiver/;

const OPTIONS = `{
	secret: process.env.RINGBACK_SIGNING_SECRET,
	onEvent: (event) => console.log("worked on " + event.orderId),
}`;
const EXPRESS = `
	import express from "express";
	import { createExpressReceiver } from "@ringback/receiver/express";
	const app = express();
	const receive = createExpressReceiver(${OPTIONS});
`;
const FASTIFY = `
	import Fastify from "fastify";
	import { createFastifyReceiver } from "@ringback/receiver/fastify";
	const receiver = createFastifyReceiver({ url: "/postback", ...${OPTIONS} });
`;
const HONO = `
	import { serve } from "@hono/node-server";
	import { Hono } from "hono";
	import { createHonoReceiver } from "@ringback/receiver/hono";
	const app = new Hono();
	const receive = createHonoReceiver(${OPTIONS});
	const start = () => serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 });
`;

export const TRAPS: readonly Trap[] = [
	{
		title: "Express: after express.json() the bytes of the body are gone, and the log says what to do",
		source: `${EXPRESS} app.use(express.json()); app.use("/postback", receive); app.listen(0, "127.0.0.1");`,
		status: 500,
		log: READ_BEFORE,
	},
	{
		title: "Express: after express.raw() the receiver uses the bytes that express.raw() has read",
		source: `${EXPRESS} app.use(express.raw({ type: "*/*" })); app.use("/postback", receive); app.listen(0, "127.0.0.1");`,
		status: 204,
		log: WORKED,
	},
	{
		title: "Express: in a router below a path the receiver verifies the whole path",
		source: `${EXPRESS}
			const router = express.Router();
			router.post("/postback", receive);
			app.use("/hooks", router);
			app.listen(0, "127.0.0.1");`,
		path: "/hooks/postback?shop=42",
		status: 204,
		log: WORKED,
	},
	{
		title: "Fastify: below a prefix the receiver verifies the whole path",
		source: `${FASTIFY}
			const app = Fastify();
			app.register(receiver, { prefix: "/hooks" });
			await app.listen({ port: 0, host: "127.0.0.1" });`,
		path: "/hooks/postback?shop=42",
		status: 204,
		log: WORKED,
	},
	{
		title: "Fastify: the receiver verifies the original URL even if rewriteUrl changes it",
		source: `${FASTIFY}
			const app = Fastify({ rewriteUrl: (request) => request.url.replace("/outside", "/postback") });
			app.register(receiver);
			await app.listen({ port: 0, host: "127.0.0.1" });`,
		path: "/outside?shop=42",
		status: 204,
		log: WORKED,
	},
	{
		title: "Fastify: other routes still parse JSON",
		source: `${FASTIFY}
			const app = Fastify();
			app.register(receiver);
			app.post("/other", async (request) => { console.log("parsed " + request.body.orderId); return {}; });
			await app.listen({ port: 0, host: "127.0.0.1" });`,
		path: "/other",
		status: 200,
		log: /^parsed A-1001$/m,
	},
	{
		title: "Hono: in an app that is mounted below another the receiver verifies the whole path",
		source: `${HONO}
			const inner = new Hono();
			inner.post("/postback", receive);
			app.route("/hooks", inner);
			start();`,
		path: "/hooks/postback?shop=42",
		status: 204,
		log: WORKED,
	},
	{
		title: "Hono: after a middleware has parsed the body its bytes are gone, and the log says what to do",
		source: `${HONO}
			app.use(async (c, next) => { await c.req.json(); await next(); });
			app.post("/postback", receive);
			start();`,
		status: 500,
		log: READ_BEFORE,
	},
];
