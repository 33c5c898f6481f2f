// Tests a listener with more connections than it has room for. The effect of such a flood on a shop is tested in
// test/proxy/slow-clients.test.ts.

import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { once } from "node:events";
import { type ClientRequest, request, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { createLog } from "../../test/support/log.ts";
import { until } from "../../test/support/until.ts";
import { type HttpServer, listen, PUBLIC_LIMITS } from "./http-server.ts";
import { createRandom } from "./random.ts";

const MAX = 3;
/** Clients that are destroyed at the end of their test. */
const clients = new Set<Socket | ClientRequest>();

test("when there is no room, the connection that has been unfinished the longest is closed: slow head, slow body or idle", async (t) => {
	const { server, log } = await open(t);
	const first = await hold(server, "GET / HTTP/1.1\r\nHost: ");
	const second = await hold(server, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf");
	const third = await hold(server, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	await once(third, "data");
	const gone: string[] = [];
	for (const [name, socket] of Object.entries({ first, second, third }))
		socket.once("close", () => gone.push(name));
	for (let n = 0; n < MAX; n++) {
		await hold(server, "GET / HTTP/1.1\r\nHost: ");
		await until(() => gone.length === n + 1);
	}
	deepEqual(gone, ["first", "second", "third"]);
	const told = log.lines.filter(({ level }) => level === "warn");
	equal(told.length, 1, "one line a minute");
	match(told[0]?.message ?? "", /too many connections/);
});

test("a client that finishes keeps its place, and others are closed first however late they came", async (t) => {
	const { server } = await open(t);
	const kept = await hold(server, "");
	const others = [await hold(server, "GET"), await hold(server, "GET")];
	kept.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	await once(kept, "data");
	for (const _ of others) await hold(server, "GET");
	await until(() => others.every(({ destroyed }) => destroyed));
	equal(kept.destroyed, false);
});

test("streams and uploads take no room, and give none away", async (t) => {
	const { server } = await open(t);
	const streams = [];
	for (let n = 0; n < 2 * MAX; n++) streams.push(await openStream(server, "/stream"));
	for (let n = 0; n < 2 * MAX; n++) await hold(server, "GET");
	equal(await ask(server), 200);
	deepEqual(new Set(streams.map(({ destroyed }) => destroyed)), new Set([false]));
});

test("long connections have a limit of their own, which counts places left with unread bytes", async (t) => {
	const { server } = await open(t);
	const first = await openStream(server, "/stream");
	for (let n = 0; n < 256; n++) await openStream(server, "/stream");
	await until(() => first.destroyed);
	equal(await ask(server), 200);
});

test("a few pipelined requests are answered in order, and too many end the connection", async (t) => {
	const { server } = await open(t);
	const few = await hold(
		server,
		"GET /slow HTTP/1.1\r\nHost: a\r\n\r\nGET /fast HTTP/1.1\r\nHost: a\r\n\r\n",
	);
	let text = "";
	few.on("data", (data) => {
		text += data;
	});
	await until(() => /\/slow.*\/fast/s.test(text));
	const many = await hold(server, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20));
	await rejects(once(many, "end"), { code: "ECONNRESET" });
});

async function open(t: TestContext) {
	const log = createLog();
	const fetch = async ({ url }: Request, env: object): Promise<Response> => {
		const { pathname } = new URL(url);
		if (pathname === "/slow") await new Promise((resolve) => setTimeout(resolve, 50));
		if (pathname !== "/stream") return new Response(pathname);
		if ("outgoing" in env && env.outgoing instanceof ServerResponse) env.outgoing.emit("takesLong");
		const start = (controller: ReadableStreamDefaultController): void =>
			controller.enqueue(new TextEncoder().encode(": opened\n\n"));
		return new Response(new ReadableStream({ start }), { headers: { "content-type": "text/event-stream" } });
	};
	const recording = { random: createRandom(), trustedProxies: [], onAnswered: () => undefined };
	const limits = { ...PUBLIC_LIMITS, maxConnections: MAX };
	const server = await listen({ host: "127.0.0.1", port: 0, limits, log, recording });
	server.serve({ fetch });
	t.after(async () => {
		// The clients are closed first, because closing the server waits for open requests.
		for (const client of clients) client.destroy();
		clients.clear();
		await server.close();
	});
	return { server, log };
}

async function hold({ port }: HttpServer, text: string): Promise<Socket> {
	const socket = connect(port, "127.0.0.1");
	clients.add(socket);
	await once(socket, "connect");
	socket.on("error", () => undefined).resume();
	if (text !== "") socket.write(text);
	return socket;
}

function ask({ url }: HttpServer): Promise<number> {
	return new Promise((resolve, reject) => {
		request(url, { agent: false }, (answer) => {
			answer.resume();
			resolve(answer.statusCode ?? 0);
		})
			.on("error", reject)
			.end();
	});
}

/** Opens a stream and resolves when its first bytes have arrived. */
function openStream({ url }: HttpServer, path: string): Promise<ClientRequest> {
	return new Promise((resolve, reject) => {
		const asking = request(url + path, { agent: false }, (answer) => {
			// Both the test and the closing server may end the stream. Either may cause an error here.
			answer.on("error", () => undefined);
			answer.once("data", () => resolve(asking));
		});
		clients.add(asking);
		asking.on("error", reject).end();
	});
}
