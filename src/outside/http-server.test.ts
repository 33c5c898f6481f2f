// The listening socket: where it says it listens, what it does when it cannot, and how it ends.

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
/** What a request may take to cross the loopback on a busy machine; never waited for in full. */
const SOON_MS = 10_000;
/** On a busy machine; less than the five seconds that somebody who is being answered has. */
const AT_ONCE_MS = 4_000;

test("answers at the address it gives, on a free port when asked for one", async (t) => {
	const server = await open(t, () => new Response("here"));
	match(server.url, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
	equal(await (await fetch(server.url)).text(), "here");
});

test("whoever asks before there is an app waits for it", async (t) => {
	const server = await listen(PLAIN);
	t.after(() => server.close());
	const asked = fetch(server.url);
	await sendHalf(t, server, "");
	server.serve({ fetch: () => new Response("at last") });
	equal(await (await asked).text(), "at last");
});

test("rejects when the port is taken, or the address is not this machine's", async (t) => {
	const { url } = await open(t, () => new Response());
	await rejects(listen({ ...PLAIN, port: Number(new URL(url).port) }), { code: "EADDRINUSE" });
	await rejects(listen({ ...PLAIN, host: "192.0.2.1" }), { code: "EADDRNOTAVAIL" });
});

test("close answers what has been asked, hangs up, and takes nothing new", async (t) => {
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
	// A client that keeps its connection does not hold it open.
	await within(AT_ONCE_MS, closed);
});

test("while connections are ended, newcomers and those who keep theirs are answered, each for the last time", async (t) => {
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

test("close waits five seconds for somebody who does not finish asking, and no longer", async (t) => {
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

test("whoever does not finish asking in time is hung up on, however many bytes still trickle in", async (t) => {
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

test("an answer may take longer than asking may, and an open stream stays open", async (t) => {
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
	// A look at the limits has come by when somebody who came later is hung up on.
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
	// The server hangs up on it: that is the point.
	socket.on("error", () => undefined);
	await once(socket, "connect");
	if (text !== "") await new Promise<void>((resolve) => socket.write(text, () => resolve()));
	return socket;
}

/** Politely or by a reset: bytes that were under way make the difference. */
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
