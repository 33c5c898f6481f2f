// Requests that come on one connection before those ahead of them are answered: real sockets, no client library.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { setImmediate as yieldLoop } from "node:timers/promises";
import { createLog } from "../../test/support/log.ts";
import { until } from "../../test/support/until.ts";
import { parseRange } from "../domain/address.ts";
import {
	type HttpServer,
	type ListenOptions,
	listen,
	METRICS_LIMITS,
	PUBLIC_LIMITS,
	type ServedApp,
} from "./http-server.ts";

const MOST = PUBLIC_LIMITS.connections.underWayOnOne;
/** More than the buffers of both ends of a connection take. */
const LARGE_BYTES = 64 * 1024 * 1024;

test("a handful of requests at once: all are answered, in order, one after the other", async (t) => {
	const app = countingApp(async (path) => new Response(`[${path}]`));
	const { server } = await open(t, app.fetch);
	const client = await dial(t, server);
	const paths = Array.from({ length: MOST }, (_, n) => `/${n}`);
	client.socket.write(paths.map(get).join(""));
	await until(() => client.received.includes(`[/${MOST - 1}]`));
	deepEqual(answersIn(client.received), paths);
	deepEqual([app.served, app.mostAtOnce], [MOST, 1]);
	client.socket.write(get("/again"));
	await until(() => client.received.includes("[/again]"));
});

test("a connection that is to end goes on until all that came at once are answered", async (t) => {
	const first = Promise.withResolvers<void>();
	const app = countingApp(async (path) => {
		if (path === "/0") await first.promise;
		return new Response(`[${path}]`);
	});
	const { server } = await open(t, app.fetch);
	const client = await dial(t, server);
	client.socket.write(["/0", "/1", "/2"].map(get).join(""));
	await until(() => app.served === 1);
	server.endConnections();
	first.resolve();
	await once(client.socket, "close");
	deepEqual(answersIn(client.received), ["/0", "/1", "/2"]);
	deepEqual(client.received.toLowerCase().match(/(?<=^connection: ).*(?=\r$)/gm), [
		...["keep-alive", "keep-alive"],
		"close",
	]);
});

test("bodies that come at once go to the requests they belong to, also large ones", async (t) => {
	const app = countingApp(async (path, request) => {
		const body = await request.text();
		return new Response(`[${path} ${body.length} ${new Set(body).size === 1 ? body.at(0) : "mixed"}]`);
	});
	const { server } = await open(t, app.fetch);
	const client = await dial(t, server);
	// The second alone is more than Node reads at a time, so that its rest is read when it has its turn.
	const sizes = [10, 200_000, 20, 100_000, 30];
	client.socket.write(sizes.map((size, n) => post(`/${n}`, String(n).repeat(size))).join(""));
	await until(
		() => client.received.includes("[/4 30 4]"),
		() => client.received,
	);
	deepEqual(
		answersIn(client.received),
		sizes.map((size, n) => `/${n} ${size} ${n}`),
	);
	equal(app.mostAtOnce, 1);
});

test("nothing more is read while one waits, and what was held back is answered afterwards", async (t) => {
	const slow = Promise.withResolvers<void>();
	const app = countingApp(async (path, request) => {
		// Reading a body makes Node read on.
		await request.text();
		if (path === "/first") await slow.promise;
		return new Response(`[${path}]`);
	});
	const { server } = await open(t, app.fetch);
	const client = await dial(t, server);
	client.socket.write(post("/first", "a") + get("/second"));
	await until(() => app.served === 1);
	// With these it has sent one more than may be under way.
	const others = Array.from({ length: MOST - 1 }, (_, n) => `/other-${n}`);
	for (const path of others) await client.send(get(path));
	// Somebody else comes and goes meanwhile: whatever is read of the first has been read by then.
	for (let n = 0; n < 3; n++) {
		const witness = await dial(t, server);
		await witness.send(get("/witness"));
		await until(() => witness.received.includes("[/witness]"));
	}
	ok(client.isOpen, "it is held back, not hung up on");
	equal(app.served, 4, "the first, and the witness's");
	slow.resolve();
	await until(() => client.received.includes(`[/other-${MOST - 2}]`));
	deepEqual(answersIn(client.received), ["/first", "/second", ...others]);
});

test("a body half of which is held back is read when its turn comes", async (t) => {
	const slow = Promise.withResolvers<void>();
	const app = countingApp(async (path, request) => {
		if (path === "/first") await slow.promise;
		return new Response(`[${path} ${(await request.text()).length}]`);
	});
	const { server } = await open(t, app.fetch);
	const client = await dial(t, server);
	const [head, body] = [
		post("/second", "").replace("Content-Length: 0", "Content-Length: 500000"),
		"b".repeat(500_000),
	];
	client.socket.write(get("/first") + head + body.slice(0, 100));
	await until(() => app.served === 1);
	client.socket.write(body.slice(100));
	slow.resolve();
	await until(() => client.received.includes("[/second 500000]"));
});

for (const proxies of ["nobody", "a trusted proxy"]) {
	test(`whoever sends more than may wait is hung up on, and no more of it is served (${proxies})`, async (t) => {
		const proxy = parseRange("127.0.0.1");
		const trustedProxies = proxies === "nobody" || proxy === undefined ? [] : [proxy];
		const release = Promise.withResolvers<void>();
		const app = countingApp(() => release.promise.then(() => new Response("late")));
		const { server, log } = await open(t, app.fetch, { trustedProxies });
		const full = await dial(t, server);
		full.socket.write(Array.from({ length: MOST }, () => get("/waits")).join(""));
		await until(() => app.served === 1);
		const clients = await Promise.all(Array.from({ length: 5 }, () => dial(t, server)));
		for (const { socket } of clients) socket.write(get("/flood").repeat(10_000));
		await until(() => clients.every(({ isOpen }) => !isOpen));
		ok(full.isOpen, "as many as may wait");
		equal(app.served, 1 + clients.length);
		equal(log.lines.length, 1, "one line a minute");
		match(log.lines[0]?.message ?? "", /too many requests at a time on one/);
		// A stop would wait for it: while its requests wait, nobody sees that it has gone.
		release.resolve();
	});
}

test("what Node would answer by itself waits for its turn too", async (t) => {
	const never = new Promise<Response>(() => undefined);
	const app = countingApp(() => never);
	const { server } = await open(t, app.fetch);
	const client = await dial(t, server);
	client.socket.write(
		get("/odd")
			.replace("Host", "Expect: a miracle\r\nHost")
			.repeat(MOST + 1),
	);
	await until(() => !client.isOpen);
	equal(client.received, "");
});

test("the metrics listener takes fewer, and answers them", async (t) => {
	const app = countingApp(async (path) => new Response(`[${path}]`));
	const { server } = await open(t, app.fetch, { limits: METRICS_LIMITS });
	const most = METRICS_LIMITS.connections.underWayOnOne;
	const [few, many] = [await dial(t, server), await dial(t, server)];
	few.socket.write(get("/metrics").repeat(most));
	await until(() => answersIn(few.received).length === most);
	many.socket.write(get("/metrics").repeat(MOST * 10));
	await until(() => !many.isOpen);
	ok(few.isOpen);
});

test("whoever never reads an answer is hung up on, and one that takes long to be made is waited for", async (t) => {
	const slow = Promise.withResolvers<void>();
	const app = countingApp(async (path) => {
		if (path !== "/large") await slow.promise;
		return new Response(path === "/slow" ? `[${path}]` : "x".repeat(LARGE_BYTES));
	});
	const { server } = await open(t, app.fetch, { limits: { ...PUBLIC_LIMITS, unreadTimeoutMs: 300 } });
	const [waiter, late, deaf] = [await dial(t, server), await dial(t, server), await dial(t, server)];
	await waiter.send(get("/slow"));
	for (const { socket } of [late, deaf]) socket.pause();
	await late.send(get("/late-and-large") + get("/behind"));
	await deaf.send(get("/large") + get("/behind"));
	await until(
		() => isHungUpOn(deaf),
		() => "the one that never reads is still there",
	);
	equal(app.served, 3, "what waits behind an answer that nobody takes is never begun");
	ok(waiter.isOpen && !isHungUpOn(late));
	slow.resolve();
	await until(() => waiter.received.includes("[/slow]"));
	// Its time begins with the answer, however often it ran out before.
	await until(() => isHungUpOn(late));
	equal(app.served, 3);
});

interface Client {
	readonly socket: Socket;
	readonly received: string;
	readonly isOpen: boolean;
	send(text: string): Promise<void>;
}

/** Whoever does not read learns of it by writing; the server holds back what is sent behind a request that waits. */
function isHungUpOn({ socket, isOpen }: Client): boolean {
	if (isOpen) socket.write("G");
	return !isOpen;
}

function get(path: string): string {
	return `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
}

function post(path: string, body: string): string {
	return `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** What is between brackets. */
function answersIn(received: string): string[] {
	return [...received.matchAll(/\[(.*?)\]/g)].map(([, text = ""]) => text);
}

function countingApp(answer: (path: string, request: Request) => Promise<Response>) {
	const app = {
		served: 0,
		mostAtOnce: 0,
		fetch: async (request: Request): Promise<Response> => {
			app.served++;
			atOnce++;
			app.mostAtOnce = Math.max(app.mostAtOnce, atOnce);
			// Long enough for others to begin, if they could.
			await yieldLoop();
			const response = await answer(new URL(request.url).pathname, request);
			atOnce--;
			return response;
		},
	};
	let atOnce = 0;
	return app;
}

async function open(t: TestContext, fetch: ServedApp["fetch"], options: Partial<ListenOptions> = {}) {
	const log = createLog();
	const server = await listen({
		host: "127.0.0.1",
		port: 0,
		limits: PUBLIC_LIMITS,
		trustedProxies: [],
		log,
		...options,
	});
	server.serve({ fetch });
	t.after(() => server.close());
	return { server, log };
}

async function dial(t: TestContext, { port }: HttpServer): Promise<Client> {
	const socket = connect(port, "127.0.0.1");
	let received = "";
	let isOpen = true;
	socket.setEncoding("latin1").on("data", (text: string) => {
		received += text;
	});
	// Being hung up on is what most are here for.
	socket.on("error", () => undefined);
	socket.once("close", () => {
		isOpen = false;
	});
	// First: the server's close waits for whoever is being answered.
	t.after(() => socket.destroy());
	await once(socket, "connect");
	return {
		socket,
		get received() {
			return received;
		},
		get isOpen() {
			return isOpen;
		},
		send: (text) => new Promise((resolve) => socket.write(text, () => resolve())),
	};
}
