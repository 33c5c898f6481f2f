import assert from "node:assert/strict";
import { createServer as createTcpServer, type Server } from "node:net";
import { suite, type TestContext, test } from "node:test";
import { makeCertificates } from "../../demo/certificate.ts";
import { type Shop, type ShopOptions, startShop } from "../../test/support/shop.ts";
import { type AddressRange, parseRange } from "../domain/address.ts";
import type { PostbackRequest, Transport } from "../ports.ts";
import { createHttpsTransport, type HttpsTransportOptions } from "./https-transport.ts";

const HEADERS = ["Content-Type", "application/json", "X-Service-Nonce", "00ff"];
const BODY = '{"orderId":"Größe 42"}';
const LOOPBACK = ranges("127.0.0.0/8", "::1/128");
/** For those tests that wait for it; long enough for a handshake on a busy machine. */
const SHORT_DEADLINE_MS = 250;

suite("an answer", () => {
	for (const status of [200, 204, 299, 301, 302, 307, 400, 401, 404, 408, 429, 500, 503, 599]) {
		test(`with status ${status} is the outcome`, async (t) => {
			const { shop, transport } = await open(t);
			shop.answer = () => ({ status, headers: { location: shop.url("/elsewhere") } });
			const { outcome } = await transport.post(to(shop));
			assert.deepEqual(outcome, { kind: "answered", status });
			assert.deepEqual(
				shop.requests.map(({ path }) => path),
				["/postback"],
				"a redirect is not followed",
			);
		});
	}

	test("comes to exactly the request that was given, and what HTTP itself needs", async (t) => {
		const { shop, transport } = await open(t);
		const path = "/a%2Fb/?x=1&y=%20z&empty=";
		await transport.post({ url: shop.url(path), headers: HEADERS, body: BODY });
		const [request] = shop.requests;
		assert.equal(request?.method, "POST");
		assert.equal(request.path, path);
		assert.equal(request.body.toString("utf8"), BODY);
		assert.deepEqual(request.rawHeaders, [
			...["host", `127.0.0.1:${shop.port}`, "connection", "keep-alive"],
			...HEADERS,
			...["content-length", String(Buffer.byteLength(BODY))],
		]);
	});
});

suite("a connection", () => {
	test("is kept, and the second attempt shows that it needed no connect and no TLS", async (t) => {
		const { shop, transport } = await open(t);
		const first = await transport.post(to(shop));
		const second = await transport.post(to(shop, "/other"));
		assert.deepEqual(
			shop.requests.map(({ connectionId }) => connectionId),
			[1, 1],
		);
		for (const step of ["connectMs", "tlsMs", "answerMs"] as const) {
			assert.ok((first.timings[step] ?? -1) >= 0, step);
		}
		assert.deepEqual(
			{ ...second.timings, answerMs: 0 },
			{ lookUpMs: null, connectMs: null, tlsMs: null, answerMs: 0 },
		);
		assert.equal(shop.connectionCount, 1);
	});

	test("carries one request at a time", async (t) => {
		const { shop, transport } = await open(t);
		shop.answer = () => ({ status: 204, delayMs: 5 });
		await Promise.all([transport.post(to(shop)), transport.post(to(shop)), transport.post(to(shop))]);
		assert.deepEqual(new Set(shop.requests.map(({ connectionId }) => connectionId)), new Set([1, 2, 3]));
	});

	for (const headers of [{ connection: "close" }, { "keep-alive": "timeout=1" }]) {
		test(`is not used again after ${JSON.stringify(headers)}`, async (t) => {
			const { shop, transport } = await open(t);
			shop.answer = () => ({ status: 204, headers });
			await transport.post(to(shop));
			assert.equal((await transport.post(to(shop))).outcome.kind, "answered");
			assert.deepEqual(
				shop.requests.map(({ connectionId }) => connectionId),
				[1, 2],
			);
		});
	}

	test("that the shop closed while it was idle is replaced, and nothing is sent twice", async (t) => {
		const { shop, transport } = await open(t);
		await transport.post(to(shop));
		shop.dropConnections();
		const { outcome, timings } = await transport.post(to(shop));
		assert.deepEqual(outcome, { kind: "answered", status: 204 });
		assert.notEqual(timings.connectMs, null);
		assert.equal(shop.requests.length, 2);
	});

	test("that broke after the request was written is an error: the shop may have read it", async (t) => {
		const { shop, transport } = await open(t);
		await transport.post(to(shop));
		shop.answer = () => ({ raw: (socket) => socket.end() });
		const { outcome } = await transport.post(to(shop));
		assert.deepEqual(outcome, { kind: "network-error", stage: "exchange", code: "CLOSED_WITHOUT_ANSWER" });
		assert.equal(shop.requests.length, 2);
	});

	test("that cannot be made is an error of its stage", async (t) => {
		const { shop, transport } = await open(t);
		await shop.close();
		const { outcome, timings } = await transport.post(to(shop));
		assert.deepEqual(outcome, { kind: "network-error", stage: "connect", code: "ECONNREFUSED" });
		assert.deepEqual([timings.tlsMs, timings.answerMs], [null, null]);
	});
});

suite("a handshake", () => {
	const expired = { names: ["127.0.0.1"], notAfter: new Date(Date.now() - 1_000) };
	const cases = [
		["expired", expired, "CERT_HAS_EXPIRED"],
		["self-signed", { names: ["127.0.0.1"], isSelfSigned: true }, "DEPTH_ZERO_SELF_SIGNED_CERT"],
		["made for another address", { names: ["127.0.0.2"] }, "ERR_TLS_CERT_ALTNAME_INVALID"],
	] as const;
	for (const [what, certificate, code] of cases) {
		test(`with a certificate that is ${what} sends nothing`, async (t) => {
			const { shop, transport } = await open(t, { certificates: await makeCertificates(certificate) });
			const { outcome, timings } = await transport.post(to(shop));
			assert.deepEqual(outcome, { kind: "network-error", stage: "tls", code });
			assert.equal(timings.answerMs, null);
			assert.equal(shop.requests.length, 0);
		});
	}

	test("with a certificate of another name sends nothing, though the address is in it", async (t) => {
		const { shop, transport } = await open(t, { names: ["127.0.0.1", "::1", "other.localhost"] });
		const { outcome } = await transport.post({ ...to(shop), url: shop.url("/", "shop.localhost") });
		assert.deepEqual(outcome, {
			kind: "network-error",
			stage: "tls",
			code: "ERR_TLS_CERT_ALTNAME_INVALID",
		});
		assert.equal(shop.requests.length, 0);
	});

	test("with a CA that nobody told us to trust sends nothing", async (t) => {
		const { shop, transport } = await open(t, {}, { trustedCa: undefined });
		const { outcome } = await transport.post(to(shop));
		assert.equal(outcome.kind === "network-error" && outcome.code, "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
		assert.equal(shop.requests.length, 0);
	});

	test("that the other side resets is an error of TLS", async (t) => {
		const { transport } = await open(t);
		const server = createTcpServer((socket) => socket.once("data", () => socket.resetAndDestroy()));
		const { outcome } = await transport.post({ url: await listen(t, server), headers: HEADERS, body: BODY });
		assert.deepEqual(outcome, { kind: "network-error", stage: "tls", code: "ECONNRESET" });
	});

	test("that never ends is cut off by the deadline", async (t) => {
		const { transport } = await open(t, {}, { deadlineMs: SHORT_DEADLINE_MS });
		const server = createTcpServer((socket) => socket.resume());
		const { outcome, timings } = await transport.post({
			url: await listen(t, server),
			headers: HEADERS,
			body: BODY,
		});
		assert.deepEqual(outcome, { kind: "timeout", stage: "tls" });
		assert.ok((timings.tlsMs ?? 0) > SHORT_DEADLINE_MS / 2 && timings.answerMs === null);
	});
});

suite("a forbidden address", () => {
	for (const host of ["127.0.0.1", "localhost"]) {
		test(`such as ${host} gets no connection`, async (t) => {
			const { shop, transport } = await open(t, {}, { allowedPrivateRanges: [] });
			const { outcome } = await transport.post({ ...to(shop), url: shop.url("/", host) });
			assert.equal(outcome.kind === "forbidden-address" && outcome.address, "127.0.0.1");
			assert.equal(shop.connectionCount, 0);
		});
	}

	test("is refused although another address of the name is allowed", async (t) => {
		const { shop, transport } = await open(t, {}, { allowedPrivateRanges: ranges("127.0.0.0/8") });
		const { outcome } = await transport.post({ ...to(shop), url: shop.url("/", "localhost") });
		assert.equal(outcome.kind === "forbidden-address" && outcome.address, "::1");
		assert.equal(shop.connectionCount, 0);
	});
});

suite("closing", () => {
	test("waits for what is in flight, ends idle connections and refuses what comes later", async (t) => {
		const { shop, transport } = await open(t, {}, { deadlineMs: SHORT_DEADLINE_MS });
		await transport.post(to(shop));
		shop.answer = () => "hang";
		const hanging = transport.post(to(shop));
		let isSettled = false;
		hanging.then(() => {
			isSettled = true;
		});
		await transport.close();
		assert.equal(isSettled, true);
		assert.deepEqual((await hanging).outcome, { kind: "timeout", stage: "exchange" });
		const { outcome } = await transport.post(to(shop));
		assert.deepEqual(outcome, { kind: "network-error", stage: "look-up", code: "TRANSPORT_CLOSED" });
	});

	test("takes the answers that still come, and ends their connections at once", async (t) => {
		const { shop, transport } = await open(t);
		let closed: Promise<void> | undefined;
		shop.answer = () => ({
			raw(socket) {
				closed = transport.close();
				socket.write("HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n");
			},
		});
		assert.deepEqual((await transport.post(to(shop))).outcome, { kind: "answered", status: 200 });
		assert.ok(closed);
		await closed;
	});
});

test("a URL that could not have been saved is an error, and not an exception", async (t) => {
	const { transport } = await open(t);
	const { outcome } = await transport.post({ url: "http://127.0.0.1/", headers: HEADERS, body: BODY });
	assert.deepEqual(outcome, { kind: "network-error", stage: "look-up", code: "INVALID_URL" });
});

test("a header that would break the request's form is an error, and nothing is sent", async (t) => {
	const { shop, transport } = await open(t);
	const { outcome } = await transport.post({ ...to(shop), headers: ["X-Service-Event", "a\r\nb: c"] });
	assert.deepEqual(outcome, { kind: "network-error", stage: "exchange", code: "UND_ERR_INVALID_ARG" });
	assert.equal(shop.requests.length, 0);
});

async function open(
	t: TestContext,
	shopOptions: ShopOptions = {},
	options: Partial<HttpsTransportOptions> = {},
): Promise<{ shop: Shop; transport: Transport }> {
	const shop = await startShop(shopOptions);
	t.after(() => shop.close());
	const transport = createHttpsTransport({
		allowedPrivateRanges: LOOPBACK,
		trustedCa: shop.caPem,
		...options,
	});
	t.after(() => transport.close());
	return { shop, transport };
}

function to(shop: Shop, path?: string): PostbackRequest {
	return { url: shop.url(path), headers: HEADERS, body: BODY };
}

async function listen(t: TestContext, server: Server): Promise<string> {
	server.on("connection", (socket) => {
		socket.on("error", () => undefined);
		t.after(() => socket.destroy());
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	t.after(() => server.close());
	const address = server.address();
	assert.ok(typeof address === "object" && address !== null);
	return `https://127.0.0.1:${address.port}/`;
}

function ranges(...texts: readonly string[]): AddressRange[] {
	return texts.map(parseRange).filter((range) => range !== undefined);
}
