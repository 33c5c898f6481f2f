// Shops that answer badly on purpose or by accident: none of them may hold an attempt beyond its deadline,
// spoil the next one, or have its bytes taken for something they are not.

import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { suite, type TestContext, test } from "node:test";
import { type Shop, startShop } from "../../test/support/shop.ts";
import { parseRange } from "../domain/address.ts";
import type { Outcome } from "../domain/verdict.ts";
import type { PostbackAnswer, Transport } from "../ports.ts";
import { createHttpsTransport } from "./https-transport.ts";

/** Short, because tests wait for it; long enough for the handshake before, on a busy machine. */
const DEADLINE_MS = 1_000;
/** For those that wait for it and need two handshakes and an answer before. */
const LONGER_DEADLINE_MS = 1_500;
/** For those that do not wait for it. */
const PATIENT_DEADLINE_MS = 60_000;
/** What a busy machine may add; the default deadline of 5 s would still be noticed. */
const LATE_MS = 3_000;
const DRIP_MS = 10;

suite("the deadline ends", () => {
	test("a shop that says nothing", async (t) => {
		const { shop, post } = await open(t, DEADLINE_MS);
		shop.answer = () => "hang";
		await assertTimeout(post);
	});

	test("headers that come a byte at a time", async (t) => {
		const { shop, post } = await open(t, DEADLINE_MS);
		shop.answer = () => ({ raw: (socket) => drip(t, socket, "HTTP/1.1 204 No Content\r\nx-filler: ", "a") });
		await assertTimeout(post);
	});

	test("announcements (1xx) for ever", async (t) => {
		const { shop, post } = await open(t, DEADLINE_MS);
		shop.answer = () => ({ raw: (socket) => drip(t, socket, "", "HTTP/1.1 103 Early Hints\r\n\r\n") });
		await assertTimeout(post);
	});

	test("and its connection, on which nothing is sent any more", async (t) => {
		const { shop, post } = await open(t, LONGER_DEADLINE_MS);
		const closed = new Promise((resolve) => {
			shop.answer = () => ({ raw: (socket) => socket.once("close", resolve) });
		});
		await assertTimeout(post, LONGER_DEADLINE_MS);
		await closed;
		shop.answer = () => ({ status: 204 });
		assert.deepEqual((await post()).outcome, { kind: "answered", status: 204 });
		assert.deepEqual(connectionIds(shop), [1, 2]);
	});
});

suite("the body", () => {
	for (const head of ["content-length: 1000000", "transfer-encoding: chunked", "connection: close"]) {
		test(`that never ends (${head}) holds neither this attempt nor the next`, async (t) => {
			const { shop, post } = await open(t, LONGER_DEADLINE_MS);
			const closed = new Promise((resolve) => {
				shop.answer = () => ({
					raw(socket) {
						drip(t, socket, `HTTP/1.1 200 OK\r\n${head}\r\n\r\n`, "1\r\na\r\n");
						socket.once("close", resolve);
					},
				});
			});
			assert.deepEqual((await post()).outcome, { kind: "answered", status: 200 });
			shop.answer = () => ({ status: 204 });
			assert.deepEqual((await post()).outcome, { kind: "answered", status: 204 });
			assert.deepEqual(connectionIds(shop), [1, 2]);
			await closed;
		});
	}

	test("up to 64 KiB is read away, and the connection kept", async (t) => {
		const { shop, post } = await open(t);
		shop.answer = () => ({ status: 500, body: "x".repeat(64 * 1_024) });
		assert.deepEqual((await post()).outcome, { kind: "answered", status: 500 });
		// The outcome does not wait for the body, so the attempts right after it may need a connection of their own.
		while (shop.connectionCount === shop.requests.length) {
			assert.ok(shop.requests.length < 20, "no connection was used twice");
			await post();
		}
	});

	test("beyond 64 KiB costs the connection", async (t) => {
		const { shop, post } = await open(t);
		const closed = new Promise((resolve) => {
			shop.answer = () => ({
				raw(socket) {
					socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n11000\r\n");
					socket.write("x".repeat(0x11000));
					socket.once("close", resolve);
				},
			});
		});
		assert.deepEqual((await post()).outcome, { kind: "answered", status: 200 });
		await closed;
	});

	test("whose chunks have extensions beyond 128 KiB costs the connection", { timeout: 30_000 }, async (t) => {
		const { shop, post } = await open(t);
		const closed = new Promise((resolve) => {
			shop.answer = () => ({
				raw(socket) {
					socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;");
					socket.write("x".repeat(400_000));
					socket.once("close", resolve);
				},
			});
		});
		assert.deepEqual((await post()).outcome, { kind: "answered", status: 200 });
		await closed;
	});

	test("is never decompressed", async (t) => {
		const { shop, post } = await open(t);
		shop.answer = () => ({ status: 200, headers: { "content-encoding": "gzip" }, body: "not gzip at all" });
		assert.deepEqual((await post()).outcome, { kind: "answered", status: 200 });
		assert.deepEqual((await post()).outcome, { kind: "answered", status: 200 });
	});
});

suite("an answer that nobody asked for", () => {
	const ACCEPTED = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
	const FORGED = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

	test("in one piece with the right one is not taken for the next request's", async (t) => {
		const { shop, post } = await open(t);
		shop.answer = () => ({ raw: (socket) => socket.write(ACCEPTED + FORGED) });
		assert.deepEqual((await post()).outcome, { kind: "answered", status: 202 });
		shop.answer = () => ({ status: 404 });
		assert.deepEqual((await post()).outcome, { kind: "answered", status: 404 });
		assert.deepEqual(connectionIds(shop), [1, 2]);
	});

	for (const bytes of [FORGED, "HTTP/1.1 2", "garbage"]) {
		test(`that waits on a kept connection (${JSON.stringify(bytes.slice(0, 12))}) kills it`, async (t) => {
			const { shop, post } = await open(t);
			let kept: Socket | undefined;
			shop.answer = () => ({
				raw(socket) {
					kept = socket;
					socket.write(ACCEPTED);
				},
			});
			assert.deepEqual((await post()).outcome, { kind: "answered", status: 202 });
			kept?.write(bytes);
			shop.answer = () => ({ status: 404 });
			assert.deepEqual((await post()).outcome, { kind: "answered", status: 404 });
			assert.deepEqual(connectionIds(shop), [1, 2]);
		});
	}
});

suite("a broken answer", () => {
	const cases: readonly [string, string, string][] = [
		["garbage", "SSH-2.0-OpenSSH_9.6\r\n", "BROKEN_ANSWER"],
		["headers beyond 16 KiB", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(17_000)}`, "UND_ERR_HEADERS_OVERFLOW"],
		[
			"a switch of protocols",
			"HTTP/1.1 101 Go\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
			"BROKEN_ANSWER",
		],
		["a bare 101", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "BROKEN_ANSWER"],
		["a 101 behind a 100", "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 101 Go\r\n\r\n", "BROKEN_ANSWER"],
		[
			"an answer that hides in a 100 with bare line feeds",
			"HTTP/1.1 100 C\n\nHTTP/1.1 404 N\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
			"BROKEN_ANSWER",
		],
		["a status of four digits", "HTTP/1.1 1000 More\r\n\r\n", "BROKEN_ANSWER"],
		["announcements beyond 16 KiB", "HTTP/1.1 103 A\r\n\r\n".repeat(1_000), "ANSWER_TOO_LARGE"],
		["an announcement beyond 16 KiB", `HTTP/1.1 103 ${"A".repeat(17_000)}`, "ANSWER_TOO_LARGE"],
		[
			"announcements beyond 16 KiB, with an answer behind",
			`HTTP/1.1 103 ${"A".repeat(17_000)}\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`,
			"ANSWER_TOO_LARGE",
		],
		["a status line beyond 128 KiB", `HTTP/1.1 200 ${"O".repeat(400_000)}`, "ANSWER_TOO_LARGE"],
		["empty lines beyond 128 KiB", "\r\n".repeat(200_000), "ANSWER_TOO_LARGE"],
	];
	for (const [what, bytes, code] of cases) {
		test(`such as ${what} is a network error`, async (t) => {
			const { shop, post } = await open(t);
			shop.answer = () => ({ raw: (socket) => socket.write(bytes) });
			assert.deepEqual((await post()).outcome, networkError(code));
		});
	}

	test("that ends in its headers is a network error", async (t) => {
		const { shop, post } = await open(t);
		shop.answer = () => ({ raw: (socket) => socket.end("HTTP/1.1 200 OK\r\nx-cut: ") });
		assert.deepEqual((await post()).outcome, networkError("BROKEN_ANSWER"));
	});

	test("that is a reset is a network error", async (t) => {
		const { shop, post } = await open(t);
		shop.answer = () => ({ raw: () => shop.dropConnections() });
		const { outcome } = await post();
		assert.equal(outcome.kind, "network-error");
	});

	test("after its headers leaves the status that was received", async (t) => {
		const { shop, post } = await open(t);
		shop.answer = () => ({ raw: (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ncut") });
		assert.deepEqual((await post()).outcome, { kind: "answered", status: 200 });
	});
});

suite("an announcement before the answer is skipped", () => {
	test("and the status behind it counts", async (t) => {
		const { shop, post } = await open(t);
		const announced = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n";
		const answer = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
		shop.answer = () => ({ raw: (socket) => socket.write(announced + answer) });
		assert.deepEqual((await post()).outcome, { kind: "answered", status: 404 });
	});

	test("but not one that comes before the request", async (t) => {
		const { shop, post } = await open(t);
		shop.answer = () => ({
			raw: (socket) =>
				socket.write("HTTP/1.1 202 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"),
		});
		assert.deepEqual((await post()).outcome, { kind: "answered", status: 202 });
		shop.answer = () => ({ status: 404 });
		assert.deepEqual((await post()).outcome, { kind: "answered", status: 404 });
		assert.deepEqual(connectionIds(shop), [1, 2]);
	});
});

test("closing does not wait for a body that drips", async (t) => {
	const { shop, post, transport } = await open(t);
	shop.answer = () => ({
		raw: (socket) => drip(t, socket, "HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n", "a"),
	});
	assert.deepEqual((await post()).outcome, { kind: "answered", status: 200 });
	await transport.close();
});

async function open(
	t: TestContext,
	deadlineMs = PATIENT_DEADLINE_MS,
): Promise<{ shop: Shop; transport: Transport; post: () => Promise<PostbackAnswer> }> {
	const shop = await startShop();
	t.after(() => shop.close());
	const allowed = parseRange("127.0.0.0/8");
	assert.ok(allowed);
	const transport = createHttpsTransport({
		allowedPrivateRanges: [allowed],
		trustedCa: shop.caPem,
		deadlineMs,
	});
	t.after(() => transport.close());
	return { shop, transport, post: () => transport.post({ url: shop.url(), headers: [], body: "{}" }) };
}

async function assertTimeout(post: () => Promise<PostbackAnswer>, deadlineMs = DEADLINE_MS): Promise<void> {
	const startedMs = performance.now();
	const { outcome, timings } = await post();
	const tookMs = performance.now() - startedMs;
	assert.deepEqual(outcome, { kind: "timeout", stage: "exchange" });
	assert.ok(tookMs >= deadlineMs && tookMs < deadlineMs + LATE_MS, `${tookMs} ms`);
	assert.ok((timings.answerMs ?? 0) > 0);
}

function drip(t: TestContext, socket: Socket, first: string, drop: string): void {
	socket.write(first);
	const timer = setInterval(() => socket.write(drop), DRIP_MS);
	once(socket, "close").finally(() => clearInterval(timer));
	t.after(() => clearInterval(timer));
}

function connectionIds(shop: Shop): number[] {
	return shop.requests.map(({ connectionId }) => connectionId);
}

function networkError(code: string): Outcome {
	return { kind: "network-error", stage: "exchange", code };
}
