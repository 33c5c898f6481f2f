// A listener under more connections than it takes: real sockets, from more than one address of the loopback.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type ClientRequest, request } from "node:http";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { CONNECTION_FLOOD_MESSAGES } from "../../test/support/connection-flood-messages.ts";
import { forkProcess } from "../../test/support/forked-process.ts";
import { createLog } from "../../test/support/log.ts";
import { PATIENCE_MS } from "../../test/support/patience.ts";
import { until } from "../../test/support/until.ts";
import { MAX_STREAMS as MAX_EVENT_STREAMS } from "../api/get-events.ts";
import { parseRange } from "../domain/address.ts";
import { HOUR_MS } from "../domain/time.ts";
import { MAX_STREAMS as MAX_PAGE_STREAMS } from "../web/live-page.ts";
import {
	type HttpLimits,
	type HttpServer,
	type ListenOptions,
	listen,
	METRICS_LIMITS,
	PUBLIC_LIMITS,
} from "./http-server.ts";

const US = "127.0.0.1";
const SOMEBODY_ELSE = "127.0.0.2";
const LOOPBACK_IS_A_NETWORK = await canListenOn(SOMEBODY_ELSE);

/** More than the listener takes in all, also when some are hung up on before they know that they are open. */
const FLOOD_CONNECTIONS = 2_500;
const HONEST_CALLS = 20;

test("2,500 half-open connections from one address: others are answered while they last, and all but a few go", {
	skip: LOOPBACK_IS_A_NETWORK ? false : "the loopback has one address only",
	// Also the one bound on how long the others wait: flood, listener and they share a machine that may be busy.
	timeout: 2 * PATIENCE_MS,
}, async (t) => {
	const { server, log } = await open(t, patient(PUBLIC_LIMITS));
	const { server: numbers } = await open(t, METRICS_LIMITS);
	const flood = await forkProcess(
		new URL("../../test/support/connection-flood-process.ts", import.meta.url),
		[],
		CONNECTION_FLOOD_MESSAGES,
	);
	t.after(() => flood.close());
	const flooding = flood.ask({
		kind: "flood",
		port: Number(new URL(server.url).port),
		connections: FLOOD_CONNECTIONS,
	});
	for (let n = 0; n < HONEST_CALLS; n++) equal(await ask(server, SOMEBODY_ELSE), 200);
	const { opened } = await flooding;
	ok(opened > PUBLIC_LIMITS.connections.inAll, `${opened} were opened`);
	for (let n = 0; n < HONEST_CALLS; n++) equal(await ask(server, SOMEBODY_ELSE), 200);
	for (let n = 0; n < HONEST_CALLS; n++) equal(await ask(numbers, US), 200);
	await until(
		async () => (await flood.ask({ kind: "report" })).open <= PUBLIC_LIMITS.connections.halfOpenOfOneNetwork,
		() => "the flood still has too many",
	);
	const told = log.lines.filter(({ level }) => level === "warn");
	equal(told.length, 1, "one line a minute");
	match(told[0]?.message ?? "", /too many connections/);
});

test("everybody behind one address: all the streams there are, and a hundred calls beside them", async (t) => {
	const { server, streams } = await open(t, PUBLIC_LIMITS);
	for (let n = 0; n < MAX_PAGE_STREAMS + MAX_EVENT_STREAMS; n++) await streams.start(US);
	equal(streams.open, MAX_PAGE_STREAMS + MAX_EVENT_STREAMS);
	const statuses = await Promise.all(Array.from({ length: 100 }, () => ask(server, US)));
	deepEqual(new Set(statuses), new Set([200]));
	equal(streams.open, MAX_PAGE_STREAMS + MAX_EVENT_STREAMS, "no stream had to go for a call");
});

test("an address with as many streams as it may have is refused another connection, until one ends", async (t) => {
	const { server, streams } = await open(t, small({ ofOneNetwork: 3 }));
	const first = await streams.start(US);
	for (let n = 0; n < 2; n++) await streams.start(US);
	await rejects(ask(server, US), { code: "ECONNRESET" });
	if (LOOPBACK_IS_A_NETWORK) equal(await ask(server, SOMEBODY_ELSE), 200);
	first.destroy();
	await until(() => streams.open === 2);
	await until(async () => (await ask(server, US).catch(() => 0)) === 200);
});

test("a trusted proxy carries everybody: no bound of one address holds for it", async (t) => {
	const proxy = parseRange(US);
	ok(proxy !== undefined);
	const { server, streams } = await open(t, small({ ofOneNetwork: 3, halfOpenOfOneNetwork: 1 }), [proxy]);
	for (let n = 0; n < 10; n++) await streams.start(US);
	equal(await ask(server, US), 200);
	equal(streams.open, 10);
});

/** No time ends a connection: whoever loses theirs loses it to the bounds. */
function patient(limits: HttpLimits): HttpLimits {
	return {
		...limits,
		...{ headersTimeoutMs: HOUR_MS, requestTimeoutMs: HOUR_MS, unreadTimeoutMs: HOUR_MS },
		connections: { ...limits.connections, pressedHeadMs: HOUR_MS },
	};
}

function small(change: Partial<HttpLimits["connections"]>): HttpLimits {
	return { ...PUBLIC_LIMITS, connections: { ...PUBLIC_LIMITS.connections, ...change } };
}

async function open(
	t: TestContext,
	limits: HttpLimits,
	trustedProxies: ListenOptions["trustedProxies"] = [],
) {
	const log = createLog();
	const asked: ClientRequest[] = [];
	const streams = {
		open: 0,
		async start(from: string): Promise<ClientRequest> {
			const stream = await openStream(server, from);
			asked.push(stream);
			return stream;
		},
	};
	const fetch = ({ url }: Request): Response => {
		if (!url.endsWith("/stream")) return new Response("here");
		streams.open++;
		return new Response(
			new ReadableStream({
				start: (controller) => controller.enqueue(new TextEncoder().encode(": opened\n\n")),
				cancel: () => {
					streams.open--;
				},
			}),
		);
	};
	const server = await listen({ host: US, port: 0, limits, trustedProxies, log });
	server.serve({ fetch });
	t.after(async () => {
		// First: a close waits for whoever is being answered.
		for (const stream of asked) stream.destroy();
		await server.close();
	});
	return { server, log, streams };
}

/** A connection of its own each time. */
function ask(server: HttpServer, from: string): Promise<number> {
	return new Promise((resolve, reject) => {
		const options = { agent: false, localAddress: from };
		request(`${server.url}/healthz`, options, (answer) => {
			answer.resume();
			resolve(answer.statusCode ?? 0);
		})
			.on("error", reject)
			.end();
	});
}

/** Resolves when the first words have come. */
function openStream(server: HttpServer, from: string): Promise<ClientRequest> {
	return new Promise((resolve, reject) => {
		const asking = request(`${server.url}/stream`, { agent: false, localAddress: from }, (answer) => {
			// Ended by us, or by the server when it closes.
			answer.on("error", () => undefined);
			answer.once("data", () => resolve(asking));
		});
		asking.on("error", reject).end();
	});
}

async function canListenOn(address: string): Promise<boolean> {
	const server = createServer();
	return new Promise((resolve) => {
		server.once("error", () => resolve(false));
		server.listen(0, address, () => server.close(() => resolve(true)));
	});
}
