// The demo's shop as the sender of callbacks sees it, an HTTPS server. It verifies every callback with the
// receiver library, as a real shop would, and can be made to answer 503.

import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type Verification, verifyPostback } from "@ringback/receiver";
import { createArrivals } from "./arrivals.ts";
import type { Certificates } from "./certificate.ts";

export interface ReceivedCallback {
	method: string;
	path: string;
	headers: Record<string, string>;
	body: Buffer;
	verification: Verification;
	/** HTTP status of the shop's answer. */
	answered: number;
}

export interface SampleShop {
	url: string;
	/** Signing secret. It is known only after the first key of the programme was issued. */
	secret: string;
	/** Makes the shop answer the next callback for this order with 503, once. */
	failNext(orderId: string): void;
	/** Resolves when this many callbacks have arrived in all. */
	waitFor(count: number): Promise<void>;
	close(): Promise<void>;
}

const PATH = "/ringback/postback?shop=demo";

export async function startSampleShop(
	{ certPem, keyPem }: Certificates,
	nowMs: () => number,
	onCallback: (callback: ReceivedCallback) => void,
): Promise<SampleShop> {
	const failing = new Set<string>();
	const arrivals = createArrivals("callbacks");

	const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
		take(request, response).catch(() => response.destroy());
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;

	async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const body = Buffer.concat(await request.toArray());
		const path = request.url ?? "";
		const headers = request.headers;
		const verification = await verifyPostback({
			path,
			headers,
			rawBody: body,
			secret: shop.secret,
			now: nowMs(),
		});
		const answered = judge(verification);
		response.writeHead(answered).end();
		onCallback({
			method: request.method ?? "",
			path,
			headers: flatten(request),
			body,
			verification,
			answered,
		});
		arrivals.add();
	}

	function judge(verification: Verification): number {
		if (!verification.ok) return 401;
		return failing.delete(verification.event.orderId) ? 503 : 204;
	}

	const shop: SampleShop = {
		url: `https://127.0.0.1:${port}${PATH}`,
		secret: "",
		failNext: (orderId) => failing.add(orderId),
		waitFor: arrivals.waitFor,
		close() {
			return new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			});
		},
	};
	return shop;
}

function flatten(request: IncomingMessage): Record<string, string> {
	return Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
}
