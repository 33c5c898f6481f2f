// A client that floods the service, or a shop whose sales are timed during the flood. Each runs in its own
// process, so that it takes no time from the service or from the other client.

import { Pool } from "undici";
import { serveParent } from "../support/forked-process.ts";
import { type Credentials, signedRequest } from "../support/signed-request.ts";

export type FloodOrder =
	| { what: "flood"; url: string; flood: Flood }
	/**
	 * Sends `count` sales with health checks in between and replies with their durations. Fails at the first
	 * wrong answer.
	 */
	| { what: "sell"; url: string; shop: Credentials; orders: string; count: number }
	/** Replies with the number of answers by status. */
	| { what: "report" };

export interface Flood {
	name: string;
	connections: number;
	method: "GET" | "POST";
	path: string;
	/** Credentials with which each request of a shop's flood is signed. */
	signedBy?: Credentials;
	headers?: Readonly<Record<string, string>>;
	body?: string;
	/**
	 * Address of the client in the header of a trusted proxy, either another one for each request or always the
	 * same.
	 */
	from?: "everywhere" | "one address";
}

export interface FloodAnswer {
	salesMs: readonly number[];
	healthMs: readonly number[];
	answered: Readonly<Record<string, number>>;
}

const answered: Record<string, number> = {};
let asked = 0;

serveParent<null, FloodOrder, FloodAnswer>(null, async (order) => {
	const times = { salesMs: [] as number[], healthMs: [] as number[] };
	if (order.what === "flood") startFlood(order.url, order.flood);
	if (order.what === "sell") await sell(order, times);
	return { ...times, answered };
});

function startFlood(url: string, flood: Flood): void {
	const pool = new Pool(url, { connections: flood.connections, headersTimeout: 0, bodyTimeout: 0 });
	const ask = async (): Promise<void> => {
		const { method, path, body } = flood;
		const signed =
			flood.signedBy === undefined
				? {}
				: Object.fromEntries(signedRequest(method, path, flood.signedBy, { nowMs: Date.now() }).headers);
		const n = ++asked;
		/** Inserts the number of the request, so that the requests of a flood differ. */
		const number = (text: string) => text.replace("NUMBER", String(n));
		const from =
			flood.from === "one address"
				? "203.0.113.9"
				: `${1 + (n % 200)}.${(n >> 8) & 255}.${(n >> 16) & 255}.9`;
		const headers = {
			...signed,
			...flood.headers,
			...(flood.from === undefined ? {} : { "x-forwarded-for": from }),
		};
		const response = await pool.request({
			method,
			path: number(path),
			headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, number(value)])),
			body: body === undefined ? null : number(body),
		});
		await response.body.dump({ limit: Number.POSITIVE_INFINITY });
		answered[response.statusCode] = (answered[response.statusCode] ?? 0) + 1;
	};
	const askForever = async (): Promise<void> => {
		for (;;) await ask().catch(() => undefined);
	};
	for (let n = 0; n < flood.connections; n++) void askForever();
}

async function sell(
	{ url, shop, orders, count }: Extract<FloodOrder, { what: "sell" }>,
	times: { salesMs: number[]; healthMs: number[] },
): Promise<void> {
	const pool = new Pool(url, { connections: 2 });
	const timed = async (into: number[], wanted: number, call: () => ReturnType<Pool["request"]>) => {
		const startedMs = performance.now();
		const { statusCode, body } = await call();
		const text = await body.text();
		into.push(performance.now() - startedMs);
		if (statusCode !== wanted) throw new Error(`answered ${statusCode}: ${text}`);
	};
	for (let n = 0; n < count; n++) {
		const body = JSON.stringify({ orderId: `${orders}-${n}`, basketValue: "1.00" });
		const path = "/v1/conversions";
		const headers = Object.fromEntries(
			signedRequest("POST", path, shop, { body, nowMs: Date.now() }).headers,
		);
		await timed(times.salesMs, 201, () => pool.request({ method: "POST", path, headers, body }));
		await timed(times.healthMs, 200, () => pool.request({ method: "GET", path: "/healthz" }));
		// The length of the pause varies, so that sales do not fall into step with the flood.
		await new Promise((resolve) => setTimeout(resolve, 5 + (n % 7)));
	}
	await pool.close();
}
