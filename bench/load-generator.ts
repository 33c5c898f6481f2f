// Shops that report sales as fast as they are answered: signed before the clock starts, over kept connections, one
// request at a time on each. Plain sockets, so that the service has the machine to itself as far as may be.
// Arguments: URL, file with the shops, requests, connections, prefix of the order ids. Prints a LoadAnswer.

import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { canonicalString, sha256Hex, sign, signingKey } from "../src/domain/signature.ts";
import { createRandom } from "../src/outside/random.ts";
import { percentile } from "./figures.ts";
import { findFrame } from "./http-frames.ts";
import type { LoadAnswer, LoadShop } from "./load-process.ts";

const [url = "", shopsFile = "", requests = "", connections = "", prefix = ""] = process.argv.slice(2);
const TARGET = "/v1/conversions";
const STATUS_START = "HTTP/1.1 ".length;
const STATUS_END = STATUS_START + 3;

const { hostname, port } = new URL(url);
const shops: LoadShop[] = JSON.parse(readFileSync(shopsFile, "utf8"));
const waiting = signAll(Number(requests));
const statuses: Record<string, number> = {};
const waitsMs: number[] = [];
let answered = 0;
const sockets = await Promise.all(Array.from({ length: Number(connections) }, open));
const startedAt = performance.now();
for (const socket of sockets) keepAsking(socket);

function signAll(count: number): Buffer[] {
	const random = createRandom();
	const keys = shops.map(({ secret }) => signingKey(secret));
	const timestamp = String(Math.floor(Date.now() / 1_000));
	return Array.from({ length: count }, (_, number) => {
		const shop = number % shops.length;
		const key = keys[shop] ?? signingKey("");
		const body = JSON.stringify({
			orderId: `${prefix}${number}`,
			basketValue: "129.90",
			...shops[shop]?.fields,
		});
		const nonce = random.hex(16);
		const signature = sign(key, canonicalString("POST", TARGET, timestamp, nonce, sha256Hex(body)));
		return Buffer.from(
			[
				`POST ${TARGET} HTTP/1.1`,
				`Host: ${hostname}:${port}`,
				`Authorization: Bearer ${shops[shop]?.apiKey}`,
				"Content-Type: application/json",
				`Content-Length: ${Buffer.byteLength(body)}`,
				`X-Service-Timestamp: ${timestamp}`,
				`X-Service-Nonce: ${nonce}`,
				`X-Service-Signature: ${signature}`,
				"",
				body,
			].join("\r\n"),
		);
	});
}

function open(): Promise<Socket> {
	return new Promise((resolve, reject) => {
		const socket = connect(Number(port), hostname, () => resolve(socket));
		socket.setNoDelay(true);
		socket.once("error", reject);
	});
}

function keepAsking(socket: Socket): void {
	let rest: Buffer = Buffer.alloc(0);
	let askedAt = 0;
	const ask = (): void => {
		const next = waiting.pop();
		askedAt = performance.now();
		if (next !== undefined) socket.write(next);
	};
	socket.on("data", (chunk: Buffer) => {
		rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
		for (let frame = findFrame(rest); frame !== undefined; frame = findFrame(rest)) {
			const status = rest.toString("latin1", STATUS_START, STATUS_END);
			statuses[status] = (statuses[status] ?? 0) + 1;
			waitsMs.push(performance.now() - askedAt);
			rest = rest.subarray(frame.end);
			answered++;
			if (answered === Number(requests)) finish();
			else ask();
		}
	});
	socket.on("close", () => {
		if (answered < Number(requests)) throw new Error("the service closed a connection");
	});
	ask();
}

function finish(): void {
	const answer: LoadAnswer = {
		perSecond: answered / ((performance.now() - startedAt) / 1_000),
		p50Ms: percentile(waitsMs, 0.5),
		p99Ms: percentile(waitsMs, 0.99),
		statuses,
	};
	process.stdout.write(`${JSON.stringify(answer)}\n`);
	process.exit();
}
