// Reports each order twice at the same moment: by the pixel, as a customer's browser does, and by a signed
// call of the shop's server, which is sent again if it is answered 503. A pair of connections takes the next
// order when both calls are answered. Prints a LoadAnswer. Arguments: URL, file with the shops, orders,
// pairs, prefix of the order ids.

import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { percentile } from "./figures.ts";
import { findHttpFrame } from "./http-frames.ts";
import { type LoadAnswer, type LoadShop, PIXEL_VALUE, saleFields } from "./load-process.ts";
import { createCallSigner, outcomeIn } from "./signed-calls.ts";

const [url = "", shopsFile = "", orderCount = "", pairs = "", prefix = ""] = process.argv.slice(2);
/**
 * Number of address blocks of the browsers. Each has a rate limit of its own, so that orders of a second must come from
 * many.
 */
const BLOCKS = 250;

type Ask = (request: Buffer) => Promise<{ status: string; body: string }>;

const { hostname, port, host } = new URL(url);
const shops: LoadShop[] = JSON.parse(readFileSync(shopsFile, "utf8"));
const signCall = createCallSigner(url, shops);
const signSale = (order: number): Buffer => signCall(order, "/v1/conversions", saleFields(prefix, order));
const orders = Array.from({ length: Number(orderCount) }, (_, order) => ({
	sale: signSale(order),
	pixel: pixelCall(order),
}));
const statuses: Record<string, number> = {};
const waitsMs: number[] = [];
let next = 0;

const connections = await Promise.all(
	Array.from({ length: Number(pairs) }, () => Promise.all([openConnection(), openConnection()])),
);
const startedAt = performance.now();
await Promise.all(connections.map(([server, browser]) => reportOrders(server, browser)));
const answer: LoadAnswer = {
	perSecond: orders.length / ((performance.now() - startedAt) / 1_000),
	p50Ms: percentile(waitsMs, 0.5),
	p99Ms: percentile(waitsMs, 0.99),
	statuses,
};
process.stdout.write(`${JSON.stringify(answer)}\n`);
process.exit();

async function reportOrders(server: Ask, browser: Ask): Promise<void> {
	for (let number = next++; number < orders.length; number = next++) {
		const order = orders[number];
		if (order === undefined) return;
		const sell = () => reportSale(server, number, order.sale);
		const showPixel = async () => {
			const { status } = await browser(order.pixel);
			count(`pixel ${status}`);
		};
		// The call of the server and that of the browser are written first in turn.
		await Promise.all((number % 2 === 0 ? [sell, showPixel] : [showPixel, sell]).map((call) => call()));
	}
}

async function reportSale(server: Ask, number: number, sale: Buffer): Promise<void> {
	const sentAt = performance.now();
	const { status, body } = await server(sale);
	waitsMs.push(performance.now() - sentAt);
	count(`server ${status} ${outcomeIn(body)}`.trimEnd());
	if (status === "503") await reportSale(server, number, signSale(number));
}

function count(name: string): void {
	statuses[name] = (statuses[name] ?? 0) + 1;
}

function pixelCall(order: number): Buffer {
	const { orderId } = saleFields(prefix, order);
	const target = `/pixel/${shops[order % shops.length]?.publicId}.gif?orderId=${orderId}&basketValue=${PIXEL_VALUE}`;
	const address = `203.0.${order % BLOCKS}.1`;
	return Buffer.from(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nX-Forwarded-For: ${address}\r\n\r\n`);
}

/** Opens a connection that carries one request at a time. */
function openConnection(): Promise<Ask> {
	return new Promise((resolve, reject) => {
		let rest: Buffer = Buffer.alloc(0);
		let onAnswer: (answer: { status: string; body: string }) => void = () => undefined;
		const socket = connect(Number(port), hostname, () =>
			resolve((request) => {
				socket.write(request);
				return new Promise((answered) => {
					onAnswer = answered;
				});
			}),
		);
		socket.setNoDelay(true);
		socket.once("error", reject);
		socket.on("close", () => {
			throw new Error("the server closed a connection");
		});
		socket.on("data", (chunk: Buffer) => {
			rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
			const frame = findHttpFrame(rest);
			if (frame === undefined) return;
			const [, status = ""] = rest.toString("latin1", 0, frame.bodyStart).split(" ", 2);
			const body = rest.toString("utf8", frame.bodyStart, frame.end);
			rest = rest.subarray(frame.end);
			onAnswer({ status, body });
		});
	});
}
