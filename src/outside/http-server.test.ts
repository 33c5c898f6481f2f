// Tests the listening socket: its address, its failures and how it closes.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { setImmediate as yieldLoop } from "node:timers/promises";
import { type HttpServer, type ListenOptions, listen, PUBLIC_LIMITS, type ServedApp } from "./http-server.ts";

const PLAIN = {
	host: "127.0.0.1",
	port: 0,
	limits: PUBLIC_LIMITS,
	trustedProxies: [],
	log: { info: () => undefined, warn: () => undefined, error: () => undefined },
};
/**
 * Generous time limit for a request over loopback on a busy machine. Tests normally finish long before it.
 */
const SOON_MS = 10_000;
/**
 * Generous time limit for a close that does not wait. It is shorter than the five seconds that open requests
 * get.
 */
const AT_ONCE_MS = 4_000;

test("the server answers at the address it reports, on a free port if asked for one", async (t) => {
	const server = await open(t, () => new Response("here"));
	match(server.url, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
	equal(await (await fetch(server.url)).text(), "here");
});

test("a request that arrives before there is an app waits for it", async (t) => {
	const server = await listen(PLAIN);
	t.after(() => server.close());
	const asked = fetch(server.url);
	await sendHalf(t, server, "");
	server.serve({ fetch: () => new Response("at last") });
	equal(await (await asked).text(), "at last");
});

test("listening rejects if the port is taken or the address does not belong to this machine", async (t) => {
	const { url } = await open(t, () => new Response());
	await rejects(listen({ ...PLAIN, port: Number(new URL(url).port) }), { code: "EADDRINUSE" });
	await rejects(listen({ ...PLAIN, host: "192.0.2.1" }), { code: "EADDRNOTAVAIL" });
});

test("closing answers the requests that arrived, closes connections and accepts nothing new", async (t) => {
	const asked = Promise.withResolvers<void>();
	const release = Promise.withResolvers<void>();
	const server = await open(t, async () => {
		asked.resolve();
		await release.promise;
		return new Response("late, but here");
	});
	const agent = new Agent({ keepAlive: true });
	t.after(() => agent.destroy());
	const answered = new Promise<IncomingMessage>((resolve, reject) => {
		get(server.url, { agent }, resolve).on("error", reject);
	});
	await asked.promise;
	const closed = server.close();
	await rejects(fetch(server.url));
	release.resolve();
	const answer = await answered;
	const text = Buffer.concat(await answer.toArray()).toString();
	deepEqual([answer.statusCode, text], [200, "late, but here"]);
	// An idle keep-alive client must not delay the close.
	await within(AT_ONCE_MS, closed);
});

test("while connections are being ended, each client gets one last answer", async (t) => {
	const server = await open(
		t,
		({ url }) => new Response(url.endsWith("/stream") ? streamOf("here") : "here"),
	);
	const agent = new Agent({ keepAlive: true, maxSockets: 1 });
	t.after(() => agent.destroy());
	const ask = (path: string) =>
		new Promise<string>((resolve, reject) => {
			const asking = get(server.url + path, { agent }, async (answer) => {
				const text = Buffer.concat(await answer.toArray()).toString();
				resolve(`${text}, ${answer.headers.connection}, ${asking.reusedSocket ? "kept" : "new"}`);
			}).on("error", reject);
		});
	equal(await ask("/"), "here, keep-alive, new");
	equal(await ask("/"), "here, keep-alive, kept");
	server.endConnections();
	deepEqual(
		[await ask("/"), await ask("/"), await ask("/stream")],
		["here, close, kept", "here, close, new", "here, close, new"],
	);
});

test("closing waits five seconds for an unfinished request, and no longer", async (t) => {
	const asked = Promise.withResolvers<void>();
	const server = await open(t, async (request) => {
		asked.resolve();
		return new Response(await request.text());
	});
	await sendHalf(t, server, "GET / HTTP/1.1\r\nHost: ");
	await sendHalf(t, server, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
	await asked.promise;
	t.mock.timers.enable({ apis: ["setTimeout"] });
	let isClosed = false;
	const closed = server.close().then(() => {
		isClosed = true;
	});
	t.mock.timers.tick(4_999);
	await yieldLoop();
	equal(isClosed, false);
	t.mock.timers.tick(1);
	await closed;
});

test("a request that is not finished in time is cut off, even while bytes still trickle in", async (t) => {
	const limits = { ...PUBLIC_LIMITS, headersTimeoutMs: 200, requestTimeoutMs: 400 };
	const server = await open(t, async (request) => new Response(await request.text()), { limits });
	const body = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";
	const senders = [
		{ text: "", trickle: "", limitMs: 200 },
		{ text: "GET / HTTP/1.1\r\nHost: a", trickle: "a", limitMs: 200 },
		{ text: body, trickle: "", limitMs: 400 },
		{ text: body, trickle: "a", limitMs: 400 },
	];
	await Promise.all(
		senders.map(async ({ text, trickle, limitMs }) => {
			const before = performance.now();
			const socket = await sendHalf(t, server, text);
			const timer = trickle === "" ? undefined : setInterval(() => socket.write(trickle), 50);
			t.after(() => clearInterval(timer));
			socket.resume();
			await within(SOON_MS, hungUp(socket));
			ok(performance.now() - before >= limitMs, "not before its time");
		}),
	);
});

test("an answer may take longer than the request timeout, and an open stream stays open", async (t) => {
	const slow = Promise.withResolvers<void>();
	const server = await open(
		t,
		({ url }) => {
			if (url.endsWith("/slow")) return slow.promise.then(() => new Response("late"));
			const body = new ReadableStream({
				async start(controller) {
					controller.enqueue(new TextEncoder().encode("first "));
					await slow.promise;
					controller.enqueue(new TextEncoder().encode("last"));
					controller.close();
				},
			});
			return new Response(body);
		},
		{ limits: { ...PUBLIC_LIMITS, headersTimeoutMs: 100, requestTimeoutMs: 100 } },
	);
	const answers = ["/slow", "/stream"].map(async (path) => (await fetch(server.url + path)).text());
	// By the time that a client that connected later has been cut off, the server has also checked the time limit of the
	// earlier clients.
	const witness = await sendHalf(t, server, "GET");
	witness.resume();
	await within(SOON_MS, hungUp(witness));
	slow.resolve();
	deepEqual(await Promise.all(answers), ["late", "first last"]);
});

async function open(
	t: TestContext,
	fetch: ServedApp["fetch"],
	options: Partial<ListenOptions> = {},
): Promise<HttpServer> {
	const server = await listen({ ...PLAIN, ...options });
	server.serve({ fetch });
	let closed: Promise<void> | undefined;
	const close = () => {
		closed ??= server.close();
		return closed;
	};
	t.after(() => within(SOON_MS, close()));
	return { ...server, close };
}

function streamOf(text: string): ReadableStream {
	return new ReadableStream({
		start(controller) {
			controller.enqueue(new TextEncoder().encode(text));
			controller.close();
		},
	});
}

async function sendHalf(t: TestContext, server: HttpServer, text: string): Promise<Socket> {
	const { hostname, port } = new URL(server.url);
	const socket = connect(Number(port), hostname);
	t.after(() => socket.destroy());
	// The server closes this connection, which may cause an error here.
	socket.on("error", () => undefined);
	await once(socket, "connect");
	if (text !== "") await new Promise<void>((resolve) => socket.write(text, () => resolve()));
	return socket;
}

/**
 * Resolves when the connection is closed. An orderly close and a reset both count, because bytes in flight decide
 * which of them happens.
 */
function hungUp(socket: Socket): Promise<void> {
	return new Promise((resolve) => socket.once("close", () => resolve()));
}

async function within<Value>(limitMs: number, promise: Promise<Value>): Promise<Value> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_resolve, reject) => {
		timer = setTimeout(() => reject(new Error(`not within ${limitMs} ms`)), limitMs);
	});
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
