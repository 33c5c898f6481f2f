// Readers of pages for a benchmark. Each reader requests one page after the other over its own connection
// until it must stop. Plain sockets are used, so that the service gets most of the machine. The file runs as
// a forked process. It receives a ReadOrder, answers "reading", receives "stop" and answers with a PagesRead.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { percentile } from "./figures.ts";
import { findHttpFrame } from "./http-frames.ts";

export interface ReadOrder {
	url: string;
	/** Session cookie of each reader. */
	cookies: readonly string[];
	paths: readonly string[];
}

export interface PagesRead {
	perSecond: number;
	p50Ms: number;
	p99Ms: number;
}

const OK = "HTTP/1.1 200 ";

const [order]: ReadOrder[] = await once(process, "message");
if (order === undefined) throw new Error("an order is needed");
const { paths } = order;
const { hostname, port, host } = new URL(order.url);
const waitsMs: number[] = [];
const startedAt = performance.now();
let isStopping = false;
const readers = order.cookies.map((cookie, reader) =>
	readOn(connect(Number(port), hostname), reader, cookie),
);
process.send?.("reading");
await once(process, "message");
isStopping = true;
await Promise.all(readers);
const pages: PagesRead = {
	perSecond: waitsMs.length / ((performance.now() - startedAt) / 1_000),
	p50Ms: percentile(waitsMs, 0.5),
	p99Ms: percentile(waitsMs, 0.99),
};
process.send?.(pages, () => process.exit());

/**
 * Requests the next page as soon as the last one is complete, until the readers must stop. Each reader begins
 * at another page.
 */
function readOn(socket: Socket, reader: number, cookie: string): Promise<void> {
	const requests = paths.map((path) =>
		Buffer.from(
			`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\nAccept: text/html\r\nSec-Fetch-Dest: document\r\n\r\n`,
		),
	);
	const stopped = Promise.withResolvers<void>();
	let next = reader * 2;
	let received: Buffer = Buffer.alloc(0);
	let askedAt = 0;
	const ask = (): void => {
		askedAt = performance.now();
		socket.write(requests[next++ % requests.length] ?? "");
	};
	socket.setNoDelay(true);
	socket.on("connect", ask);
	socket.on("data", (chunk: Buffer) => {
		received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
		const frame = findHttpFrame(received);
		if (frame === undefined) return;
		const start = received.toString("latin1", 0, OK.length);
		if (start !== OK) throw new Error(`a page was answered ${received.toString("latin1", 0, 300)}`);
		received = received.subarray(frame.end);
		waitsMs.push(performance.now() - askedAt);
		if (isStopping) stopped.resolve();
		else ask();
	});
	return stopped.promise;
}
