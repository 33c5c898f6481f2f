// Receives status callbacks: npm install @ringback/receiver, then PORT=8080 node receiver.mjs
// behind your TLS proxy. Makes a file of each. For good: a table with a unique key in place of
// stored and the files. The package has adapters for Express, Fastify, Hono and Next.js.
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename } from "node:path";
import { createReceiver } from "@ringback/receiver";

mkdirSync("postbacks", { recursive: true });
const stored = new Set();

const receiver = createReceiver({
	secret: process.env.RINGBACK_SIGNING_SECRET,
	brand: "Service", // the word in the header names
	// Before the answer. What it throws becomes a 503, and the callback is sent again.
	store(event) {
		const key = basename(`${event.conversionId}.${event.event}.json`);
		if (stored.has(key)) return "seen"; // the same event may come twice
		writeFileSync(`postbacks/${key}`, JSON.stringify(event));
		stored.add(key);
		return "stored";
	},
	// The slow work: once per event, after the answer.
	onEvent(event) {
		console.log(event.event, event.conversionId, event.orderId, event.status);
	},
});

createServer(receiver.node).listen(Number(process.env.PORT), "127.0.0.1");
