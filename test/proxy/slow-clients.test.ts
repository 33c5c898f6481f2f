// Tests the service with clients that never finish, more of them than the listener has room for. They send
// their head or body slowly, or read the answer slowly, directly and behind the proxies of ops/proxy. The
// health check and a shop's sale are answered as usual, and memory stays small.

import { equal, ok } from "node:assert/strict";
import { request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { after, before, describe, test } from "node:test";
import { boundHeap } from "../../src/cli/heap-bounds.ts";
import { PUBLIC_LIMITS } from "../../src/outside/http-server.ts";
import { findProgram } from "../support/find-program.ts";
import { forkProcess } from "../support/forked-process.ts";
import { reportNotRun } from "../support/not-run.ts";
import { type OpenedService, openService } from "../support/open-service.ts";
import { isLong } from "../support/proof.ts";
import { openAccount, type ShopAccount } from "../support/shop-account.ts";
import { signedRequest } from "../support/signed-request.ts";
import { PROXIES } from "./proxy-process.ts";
import type { SlowClientsOrder } from "./slow-clients-process.ts";

const CONNECTIONS = PUBLIC_LIMITS.maxConnections + 200;
/** Number of health checks and of sales. Half of them must be answered in time. */
const CALLS = isLong ? 15 : 7;
const MEDIAN_MS = 1_000;
const MEGABYTE = 1024 * 1024;
/**
 * Maximum growth of memory for 2,048 connections, including the bytes that each has sent or has yet to read.
 * A separate service process grew by only 135 MB, to 270 MB in total. It has less room for garbage than the
 * process of this test.
 */
const MEMORY_BYTES = 256 * MEGABYTE;

interface Case {
	way: "directly" | "nginx" | "caddy";
	what: SlowClientsOrder["what"];
	addresses: number;
}

/** Further cases for long runs. Short runs have one case of each kind. */
const LONG: readonly Case[] = [
	{ way: "directly", what: "answer", addresses: 50 },
	{ way: "directly", what: "head", addresses: 50 },
	{ way: "directly", what: "body", addresses: 1 },
	{ way: "directly", what: "body", addresses: 50 },
	{ way: "directly", what: "answer", addresses: 1 },
	{ way: "nginx", what: "head", addresses: 50 },
	{ way: "nginx", what: "body", addresses: 50 },
	{ way: "nginx", what: "answer", addresses: 50 },
	{ way: "caddy", what: "head", addresses: 50 },
	{ way: "caddy", what: "body", addresses: 50 },
	{ way: "caddy", what: "answer", addresses: 50 },
	{ way: "caddy", what: "answer", addresses: 1 },
];

const CASES: readonly Case[] = [
	{ way: "directly", what: "head", addresses: 1 },
	{ way: "nginx", what: "answer", addresses: 1 },
	{ way: "caddy", what: "body", addresses: 1 },
	...(isLong ? LONG : []),
];

let opened: OpenedService;
let account: ShopAccount;
before(async () => {
	// The heap is limited as `serve` does it. This affects no other tests, because this file has its own
	// process.
	boundHeap();
	opened = await openService({ settings: { RINGBACK_TRUSTED_PROXIES: "127.0.0.1" } });
	const workplace = await opened.openWorkplace();
	account = await openAccount(workplace);
	await workplace.close();
});
after(() => opened.close());

describe("clients that never finish", { concurrency: 1 }, () => {
	for (const { way, what, addresses } of CASES) {
		const proxy = PROXIES.find(({ name }) => name === way);
		const isHere = proxy === undefined || findProgram(proxy.name) !== undefined;
		const skip = isHere ? false : reportNotRun(`slow clients behind ${way}: it is not installed.`);
		test(`the service works while clients from ${addresses} addresses never finish their part (${what}, ${way})`, {
			skip,
			timeout: 180_000,
		}, async (t) => {
			const here = opened.service.url;
			const running = await proxy?.start(t, new URL(here).host);
			const [url, caPem] = running === undefined ? [here] : [running.url, running.caPem];
			const sell = (n: number) => {
				const body = JSON.stringify({ orderId: `${way}-${what}-${n}`, basketValue: "1.00" });
				const credentials = { key: account.apiKey, secret: account.secret };
				const { headers } = signedRequest("POST", "/v1/conversions", credentials, {
					body,
					nowMs: Date.now(),
				});
				return ask(`${url}/v1/conversions`, {
					caPem,
					method: "POST",
					body,
					headers: Object.fromEntries(headers),
				});
			};
			equal(await sell(-1), 201);
			const restBytes = process.memoryUsage.rss();
			const script = new URL("slow-clients-process.ts", import.meta.url);
			const clients = await forkProcess<null, SlowClientsOrder, number>(script);
			// The clients must end before the proxy, because stopping the proxy waits for them.
			await using _ = { [Symbol.asyncDispose]: () => clients.close() };
			const held = await clients.ask({
				url,
				what,
				connections: CONNECTIONS,
				addresses: Array.from({ length: addresses }, (_, n) => `127.0.0.${n + 10}`),
			});
			ok(held > PUBLIC_LIMITS.maxConnections, `only ${held} connections were opened`);
			const tookMs: number[] = [];
			for (let n = 0; n < CALLS; n++) {
				for (const [call, expected] of [
					[() => ask(`${url}/healthz`, { caPem }), 200],
					[() => sell(n), 201],
				] as const) {
					const startedMs = performance.now();
					equal(await call(), expected);
					tookMs.push(performance.now() - startedMs);
				}
			}
			const grown = Math.round((process.memoryUsage.rss() - restBytes) / MEGABYTE);
			const sorted = tookMs.toSorted((a, b) => a - b);
			const median = sorted[sorted.length >> 1] ?? Number.POSITIVE_INFINITY;
			t.diagnostic(
				`median ${Math.round(median)} ms, slowest ${Math.round(sorted.at(-1) ?? 0)} ms, ${grown} MB more`,
			);
			ok(median <= MEDIAN_MS, `half of the calls took more than ${median} ms`);
			ok(grown * MEGABYTE <= MEMORY_BYTES, `${grown} MB more`);
		});
	}
});

interface Call {
	caPem: string | undefined;
	method?: string;
	body?: string;
	headers?: Readonly<Record<string, string>>;
}

/** Sends a request on a new connection, and resolves to its status. */
function ask(url: string, { caPem, method = "GET", body, headers = {} }: Call): Promise<number | undefined> {
	return new Promise((resolve, reject) => {
		const start = caPem === undefined ? requestPlain : requestTls;
		const options = { method, headers, agent: false, ...(caPem === undefined ? {} : { ca: caPem }) };
		start(url, options, (answer) => {
			answer.resume();
			answer.once("end", () => resolve(answer.statusCode));
		})
			.on("error", reject)
			.end(body);
	});
}
