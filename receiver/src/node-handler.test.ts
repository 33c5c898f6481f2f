import assert from "node:assert/strict";
import { once } from "node:events";
import {
	type ClientRequest,
	createServer,
	type IncomingMessage,
	request as open,
	type ServerResponse,
} from "node:http";
import { connect, type Socket } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import type { PostbackEvent } from "./event.ts";
import { createReceiver } from "./receiver.ts";
import type { Refused } from "./receiver-options.ts";
import { sampleDelivery, sampleSecret } from "./sample-delivery.test-support.ts";

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

let worked: PostbackEvent[] = [];
let refused: Refused[] = [];
let errors: unknown[] = [];
let onEvent = (event: PostbackEvent): unknown => worked.push(event);
let handle: Handle;
let handled: Promise<void>[] = [];
const sockets = new Set<Socket>();

const server = createServer((request, response) => {
	handled.push(handle(request, response));
});
server.on("connection", (socket) => {
	sockets.add(socket);
	socket.on("close", () => sockets.delete(socket));
});

before(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
beforeEach(() => {
	worked = [];
	refused = [];
	errors = [];
	handled = [];
	onEvent = (event) => worked.push(event);
	handle = createReceiver({
		secret: sampleSecret,
		onEvent: (event) => onEvent(event),
		onRefused: (one) => refused.push(one),
		onError: (error) => errors.push(error),
	}).node;
});
after(async () => {
	const closed = once(server, "close");
	server.close();
	server.closeIdleConnections();
	await closed;
	assert.equal(sockets.size, 0);
});

test("a delivery is answered 204 without a body, and its work begins after that was sent", async () => {
	const receive = handle;
	const seen: boolean[] = [];
	handle = (request, response) => {
		onEvent = () => seen.push(response.writableFinished);
		return receive(request, response);
	};
	const response = await post();
	assert.deepEqual([response.status, await response.text()], [204, ""]);
	await Promise.all(handled);
	assert.deepEqual(seen, [true]);
});

test("a body in chunks is put together as it arrived", async () => {
	const { path, headers, rawBody } = fresh();
	const sending = open(origin() + path, { method: "POST", headers });
	for (const byte of Buffer.from(rawBody)) sending.write(Buffer.of(byte));
	sending.end();
	const [response]: IncomingMessage[] = await once(sending, "response");
	response?.resume();
	assert.equal(response?.statusCode, 204);
});

test("after a parser that consumed the body it answers 500 and says what to do", async () => {
	const receive = handle;
	handle = async (request, response) => {
		const chunks = await request.toArray();
		Object.assign(request, { body: JSON.parse(Buffer.concat(chunks).toString()) });
		return receive(request, response);
	};
	assert.equal((await post()).status, 500);
	assert.match(String(errors[0]), /read before .* before express\.json\(\)/s);
	assert.equal(worked.length, 0);
});

for (const name of ["body", "rawBody"]) {
	for (const form of ["bytes", "text"]) {
		test(`if other code left the raw body as ${form} under ${name}, that is used`, async () => {
			const receive = handle;
			handle = async (request, response) => {
				const bytes = Buffer.concat(await request.toArray());
				Object.assign(request, { [name]: form === "bytes" ? bytes : bytes.toString() });
				return receive(request, response);
			};
			assert.equal((await post()).status, 204);
		});
	}
}

test("the whole path is verified if the handler is mounted below a path", async () => {
	const receive = handle;
	handle = (request, response) => {
		Object.assign(request, { originalUrl: request.url, url: "/" });
		return receive(request, response);
	};
	assert.equal((await post()).status, 204);
});

test("a body that is a little too large is answered 413, and none of it is taken for the next request", async () => {
	const response = await post(fresh({ rawBody: " ".repeat(70_000) }));
	assert.equal(response.status, 413);
	assert.equal((await post()).status, 204);
});

test("a body announced as much too large is answered 413 without waiting for it", async () => {
	const socket = await dial();
	socket.write(`POST / HTTP/1.1\r\nhost: shop\r\ncontent-length: 99999999999\r\n\r\n`);
	const answer = await readAll(socket);
	assert.match(answer, /^HTTP\/1\.1 413 /);
	assert.match(answer, /\r\nconnection: close\r\n/i);
	assert.equal(refused[0]?.reason, "body_too_large");
});

test("an endless body is answered 413 after little more than the limit", async () => {
	const socket = await dial();
	socket.write("POST / HTTP/1.1\r\nhost: shop\r\ntransfer-encoding: chunked\r\n\r\n");
	const piece = Buffer.from(`10000\r\n${" ".repeat(0x10000)}\r\n`);
	let pieces = 0;
	const send = () => {
		while (!socket.destroyed && pieces < 1000 && socket.write(piece)) pieces++;
	};
	socket.on("drain", send);
	send();
	assert.match(await readAll(socket), /^HTTP\/1\.1 413 /);
	// The receiver reads and discards 1 MiB. The other chunks that were sent are in the kernel's buffers.
	assert.ok(pieces < 1000, `${pieces} pieces of 64 KiB`);
});

test("a sender that disconnects in the middle of its body disturbs nobody", async () => {
	const socket = await dial();
	socket.write("POST / HTTP/1.1\r\nhost: shop\r\ncontent-length: 100\r\n\r\nhalf");
	while (handled.length === 0) await new Promise(setImmediate);
	socket.destroy();
	await Promise.all(handled);
	assert.deepEqual(
		refused.map(({ reason }) => reason),
		["body_incomplete"],
	);
	assert.equal((await post()).status, 204);
});

test("a stored event is processed although its sender disconnected before the answer", async () => {
	const storing = Promise.withResolvers<"stored">();
	let hasAsked = false;
	handle = createReceiver({
		secret: sampleSecret,
		onEvent: (event) => onEvent(event),
		store: () => {
			hasAsked = true;
			return storing.promise;
		},
	}).node;
	const sending = send();
	while (!hasAsked) await new Promise(setImmediate);
	sending.destroy();
	while (sockets.size > 0) await new Promise(setImmediate);
	storing.resolve("stored");
	await Promise.all(handled);
	assert.equal(worked.length, 1);
});

test("an event is processed although its sender disconnected before the handler ran", async () => {
	const receive = handle;
	handle = async (request, response) => {
		Object.assign(request, { rawBody: Buffer.concat(await request.toArray()) });
		while (!response.closed) await new Promise(setImmediate);
		return receive(request, response);
	};
	const sending = send();
	while (handled.length === 0) await new Promise(setImmediate);
	sending.destroy();
	await Promise.all(handled);
	assert.equal(worked.length, 1);
});

test("an event is processed although other code answered before the handler ran", async () => {
	const receive = handle;
	handle = async (request, response) => {
		Object.assign(request, { rawBody: Buffer.concat(await request.toArray()) });
		response.writeHead(202).end();
		while (!response.closed) await new Promise(setImmediate);
		return receive(request, response);
	};
	assert.equal((await post()).status, 202);
	await Promise.all(handled);
	assert.equal(worked.length, 1);
});

for (const [what, origin, path] of [
	["in absolute form, as a proxy may send it,", "http://shop.example:3000", "/postback?shop=42"],
	["in absolute form with capitals", "HTTPS://shop.example", "/postback?to=http://shop.example/"],
	["that only looks like one in absolute form", "", "//shop.example/postback"],
] as const) {
	test(`a target ${what} is verified by its path and query`, async () => {
		const { headers, rawBody } = fresh({ path });
		const sending = open({ port: port(), method: "POST", path: origin + path, headers, agent: false });
		sending.end(rawBody);
		const [response]: IncomingMessage[] = await once(sending, "response");
		response?.resume();
		assert.equal(response?.statusCode, 204, JSON.stringify(refused));
	});
}

test("an answer that other code already sent is not sent twice", async () => {
	const receive = handle;
	handle = (request, response) => {
		response.writeHead(202).end();
		return receive(request, response);
	};
	assert.equal((await post()).status, 202);
	await Promise.all(handled);
	assert.deepEqual(errors, []);
});

for (const method of ["GET", "HEAD"]) {
	test(`a person's ${method} is answered 405 with the method to use`, async () => {
		const response = await fetch(origin(), { method, headers: { connection: "close" } });
		assert.equal(response.status, 405);
		assert.equal(response.headers.get("allow"), "POST");
		assert.equal((await response.text()).includes("POST"), method === "GET");
	});
}

function fresh(changes: Parameters<typeof sampleDelivery>[0] = {}) {
	return sampleDelivery({ timestamp: String(Math.floor(Date.now() / 1000)), ...changes });
}

function post({ path, headers, rawBody } = fresh()): Promise<Response> {
	const body = Buffer.from(rawBody);
	return fetch(origin() + path, { method: "POST", headers: { ...headers, connection: "close" }, body });
}

/** Starts a request whose sender disconnects before it is answered. */
function send(): ClientRequest {
	const { path, headers, rawBody } = fresh();
	const sending = open(origin() + path, { method: "POST", headers });
	sending.on("error", () => undefined);
	sending.end(rawBody);
	return sending;
}

function origin(): string {
	return `http://127.0.0.1:${port()}`;
}

function port(): number {
	const address = server.address();
	assert.ok(address !== null && typeof address === "object");
	return address.port;
}

async function dial(): Promise<Socket> {
	const socket = connect(port(), "127.0.0.1");
	await once(socket, "connect");
	return socket;
}

async function readAll(socket: Socket): Promise<string> {
	let text = "";
	socket.on("data", (chunk) => {
		text += chunk;
	});
	// This sender keeps writing to a closed connection on purpose, so errors are expected.
	socket.on("error", () => undefined);
	if (!socket.destroyed) await once(socket, "close").catch(() => undefined);
	return text;
}
