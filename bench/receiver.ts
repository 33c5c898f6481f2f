// The shop of the benchmark. It is a separate process that answers 204 as fast as a TLS socket can, and
// counts requests. With the argument "watch" it also reads the path and the conversion of each request, and
// the path controls its answer:
//
//   /shop/7          answers at once
//   /shop/7/after-5  answers after five milliseconds
//   /shop/7/swallow  reads and never answers

import { createServer, type TLSSocket } from "node:tls";
import { makeCertificates } from "../demo/certificate.ts";
import { findHttpFrame } from "./http-frames.ts";
import type { Arrival, ReceiverReport } from "./receiver-process.ts";

const ANSWER = Buffer.from("HTTP/1.1 204 No Content\r\n\r\n");
const PATH_START = "POST ".length;
const SPACE = 32;
const CONVERSION_NAME = Buffer.from('"conversionId":"');
const QUOTE = 34;

const isWatching = process.argv[2] === "watch";
let count = 0;
let firstAtMs = 0;
let lastAtMs = 0;
let arrivals: Arrival[] = [];
let seen = new Set<string>();
let twice = 0;
let atOnce = new Map<string, number>();
let mostAtOnce = 0;

const { caPem, certPem, keyPem } = await makeCertificates({ names: ["127.0.0.1"] });
const server = createServer({ cert: certPem, key: keyPem }, (socket) => {
	let rest: Buffer = Buffer.alloc(0);
	socket.setNoDelay(true);
	socket.on("error", () => socket.destroy());
	socket.on("data", (chunk: Buffer) => {
		rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
		for (let frame = findHttpFrame(rest); frame !== undefined; frame = findHttpFrame(rest)) {
			note();
			if (isWatching) watch(socket, rest, frame.bodyStart);
			else socket.write(ANSWER);
			rest = rest.subarray(frame.end);
		}
	});
});
server.listen(0, "127.0.0.1", () => {
	const address = server.address();
	process.send?.({ port: typeof address === "object" ? address?.port : undefined, caPem });
});
process.on("message", (question) => {
	const report: ReceiverReport = { count, firstAtMs, lastAtMs, twice, mostAtOnce, arrivals };
	if (question === "report") process.send?.(report);
	if (question === "count") process.send?.({ ...report, arrivals: [] });
	if (question === "forget") {
		[count, firstAtMs, lastAtMs, twice, mostAtOnce] = [0, 0, 0, 0, 0];
		arrivals = [];
		seen = new Set();
		atOnce = new Map();
		process.send?.({ ...report, arrivals: [] });
	}
});
process.on("disconnect", () => process.exit());

function note(): void {
	lastAtMs = performance.timeOrigin + performance.now();
	if (count === 0) firstAtMs = lastAtMs;
	count++;
}

function watch(socket: TLSSocket, bytes: Buffer, bodyStart: number): void {
	const path = bytes.toString("latin1", PATH_START, bytes.indexOf(SPACE, PATH_START));
	const [, , shop = "", behaviour = ""] = path.split("/");
	const at = bytes.indexOf(CONVERSION_NAME, bodyStart) + CONVERSION_NAME.length;
	const conversion = bytes.toString("latin1", at, bytes.indexOf(QUOTE, at));
	arrivals.push({ shop, conversion, atMs: lastAtMs });
	if (seen.has(conversion)) twice++;
	else seen.add(conversion);
	const others = atOnce.get(shop) ?? 0;
	atOnce.set(shop, others + 1);
	mostAtOnce = Math.max(mostAtOnce, others + 1);
	let isOver = false;
	const end = (): void => {
		if (isOver) return;
		isOver = true;
		atOnce.set(shop, (atOnce.get(shop) ?? 1) - 1);
		if (!socket.destroyed) socket.write(ANSWER);
	};
	if (behaviour === "") end();
	else if (behaviour.startsWith("after-")) setTimeout(end, Number(behaviour.slice("after-".length)));
	else socket.once("close", end);
}
