import assert from "node:assert/strict";
import { suite, type TestContext, test } from "node:test";
import { type AddressRange, parseRange } from "#core/domain/address.ts";
import type { PostbackRequest, Transport } from "#core/ports.ts";
import { type Shop, type ShopOptions, startShop } from "../../test/support/shop.ts";
import { createHttpsTransport, DEADLINE_MS, type HttpsTransportOptions } from "./https-transport.ts";

const HEADERS = ["Content-Type", "application/json", "X-Service-Nonce", "00ff"];
const BODY = '{"orderId":"Größe 42"}';
const LOOPBACK = ranges("127.0.0.0/8", "::1/128");
/** Deadline for tests that wait for it to pass. It is long enough for a handshake on a busy machine. */
const SHORT_DEADLINE_MS = 250;

suite("an answer", () => {
	for (const status of [204, 307, 404, 503]) {
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

	test("follows exactly the given request, plus the headers that HTTP itself needs", async (t) => {
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
	test("is reused, and the second attempt shows no connect and no TLS time", async (t) => {
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
		test(`is not reused after ${JSON.stringify(headers)}`, async (t) => {
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
});

// Broken handshakes and answers are tested in test/hostile, and forbidden addresses in test/addresses.
suite("a handshake", () => {
	test("with a certificate for another name sends nothing, although the address is in it", async (t) => {
		const { shop, transport } = await open(t, { names: ["127.0.0.1", "::1", "other.localhost"] });
		const { outcome } = await transport.post({ ...to(shop), url: shop.url("/", "shop.localhost") });
		assert.deepEqual(outcome, {
			kind: "network-error",
			stage: "tls",
			code: "ERR_TLS_CERT_ALTNAME_INVALID",
		});
		assert.equal(shop.requests.length, 0);
	});
});

test("a body of up to 64 KiB is read to its end, and the connection is reused", async (t) => {
	const { shop, transport } = await open(t);
	shop.answer = () => ({ status: 500, body: "x".repeat(64 * 1_024) });
	assert.deepEqual((await transport.post(to(shop))).outcome, { kind: "answered", status: 500 });
	// The outcome does not wait for the body of the first answer, so the next attempts may open another connection.
	while (shop.connectionCount === shop.requests.length) {
		assert.ok(shop.requests.length < 20, "no connection was used twice");
		await transport.post(to(shop));
	}
});

suite("if this process is stopped or its machine is suspended until the deadline has passed", () => {
	for (const [what, clock] of [
		["stopped", performance],
		["suspended", Date],
	] as const) {
		for (const isReused of [false, true]) {
			const connection = isReused ? "a connection that is open already" : "a connection that it still opens";
			test(`nothing is sent on ${connection} (${what})`, async (t) => {
				const { shop, transport } = await open(t);
				if (isReused) await transport.post(to(shop));
				const before = shop.requests.length;
				const answer = transport.post(to(shop));
				const read = clock.now.bind(clock);
				t.mock.method(clock, "now", () => read() + DEADLINE_MS);
				assert.deepEqual((await answer).outcome, { kind: "timeout", stage: "exchange" });
				t.mock.restoreAll();
				assert.deepEqual((await transport.post(to(shop))).outcome, { kind: "answered", status: 204 });
				assert.equal(shop.requests.length, before + 1, "only the request after it arrived");
			});
		}
	}
});

suite("closing", () => {
	test("waits for attempts in flight, closes idle connections and refuses later requests", async (t) => {
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

	test("accepts answers that still arrive, and closes their connections at once", async (t) => {
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

test("a header that would break the request is an error, and nothing is sent", async (t) => {
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

function ranges(...texts: readonly string[]): AddressRange[] {
	return texts.map(parseRange).filter((range) => range !== undefined);
}
