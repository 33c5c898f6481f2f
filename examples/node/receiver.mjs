// Receives status callbacks: PORT=3000 node receiver.mjs, behind your TLS proxy. Needs our package:
// npm install https://ringback.example/downloads/ringback-receiver-1.0.0.tgz
// Stores each in a file. In production: use a table with a unique key in place of the files. The
// package has adapters for Express, Fastify, Hono and Next.js.
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createReceiver } from "@ringback/receiver";

// One secret, or two with a comma between them while it is being replaced.
const secrets = process.env.RINGBACK_SIGNING_SECRET?.split(",");
const port = process.env.PORT ?? "3000";
if (!secrets) {
	console.error("Set RINGBACK_SIGNING_SECRET.");
	process.exit(1);
}
mkdirSync("postbacks", { recursive: true });
const hex = (text) => Buffer.from(text).toString("hex");

const receiver = createReceiver({
	secret: secrets,
	brand: "Service", // the word in the header names
	// Before the answer. If it throws, the answer is 503 and the callback is sent again.
	store(event) {
		// Hex, so that no id can be a path and no two events share a file name.
		const file = `postbacks/${hex(event.conversionId)}.${hex(event.event)}.json`;
		if (existsSync(file)) return "seen"; // the same event may come twice
		writeFileSync(`${file}.part`, JSON.stringify(event)); // a full disk leaves half of it here
		renameSync(`${file}.part`, file);
		return "stored";
	},
	// What to paste under "Check a signature" on the Integration page. Strangers can send it, too.
	onRefused({ status, reason, detail }, received) {
		console.warn(status, reason, detail, received);
	},
	// Slow work goes here: once per event, after the answer. Events come in any order: use this one
	// only if its status ranks above the one you have (rule 8 of the guide).
	onEvent(event) {
		console.log(event.event, event.conversionId, event.orderId, event.status);
	},
});

createServer(receiver.node).listen(Number(port), "127.0.0.1", () => {
	console.log(`Listening on http://127.0.0.1:${port}`);
});
