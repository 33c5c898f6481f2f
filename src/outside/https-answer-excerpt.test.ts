// Tests the stored part of an answer over real TLS sockets and with hostile shops. That part is limited and safe to
// show. Reading the body never changes the outcome or delays other attempts.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { suite, type TestContext, test } from "node:test";
import { parseRange } from "#core/domain/address.ts";
import type { PostbackAnswer, Transport } from "#core/ports.ts";
import { type Shop, type ShopAnswer, startShop } from "../../test/support/shop.ts";
import { createHttpsTransport } from "./https-transport.ts";

/** Deadline that is never reached in these tests. */
const PATIENT_DEADLINE_MS = 60_000;
/** Deadline that is shorter than the time to wait for a body. */
const SHORT_DEADLINE_MS = 400;
/** Time limit far below the patient deadline, but far above what a busy machine needs for half a second of work. */
const SOON_MS = 15_000;
const DRIP_MS = 10;

suite("of an answer that is not 2xx", () => {
	test("the four headers and the body are stored", async (t) => {
		const { shop, answer } = await open(t);
		const headers = {
			location: shop.url("/elsewhere"),
			"content-type": "text/html",
			server: "Apache/2.4",
			"retry-after": "120",
			"set-cookie": "session=secret",
		};
		const excerpt = await answer({ status: 302, headers, body: "<h1>Moved</h1>\r\n" });
		deepEqual(excerpt, {
			location: shop.url("/elsewhere"),
			contentType: "text/html",
			server: "Apache/2.4",
			retryAfter: "120",
			body: "<h1>Moved</h1>\n",
			isCut: false,
		});
	});

	test("an empty body is recorded as empty, and of a 2xx answer nothing is stored", async (t) => {
		const { answer } = await open(t);
		for (const status of [301, 304, 400, 401, 404, 408, 429, 500, 503, 599]) {
			const excerpt = await answer({ status });
			deepEqual([excerpt?.body, excerpt?.isCut], ["", false], String(status));
		}
		for (const status of [200, 202, 204, 299]) {
			const body = status === 204 ? {} : { body: "OK" };
			equal(await answer({ status, headers: { server: "x" }, ...body }), null, String(status));
		}
	});
});

suite("the first 2 KB are stored", () => {
	test("of 60 KB", async (t) => {
		const { answer } = await open(t);
		const excerpt = await answer({ status: 500, body: `begin${"x".repeat(60_000)}` });
		deepEqual([excerpt?.body.slice(0, 6), excerpt?.body.length, excerpt?.isCut], ["beginx", 2_048, true]);
	});

	test("of an endless body, as soon as they have arrived", async (t) => {
		const { answer } = await open(t);
		const startedMs = performance.now();
		const excerpt = await answer({
			raw: (socket) => pour(t, socket, "HTTP/1.1 500 E\r\ntransfer-encoding: chunked\r\n\r\n"),
		});
		deepEqual([excerpt?.body, excerpt?.isCut], ["x".repeat(2_048), true]);
		ok(performance.now() - startedMs < SOON_MS);
	});
});

suite("a slow body", () => {
	const HEAD = "HTTP/1.1 500 E\r\ncontent-length: 1000000\r\n\r\nbegin";

	test("does not delay the outcome, and is cut after half a second", async (t) => {
		const { shop, post } = await open(t);
		shop.answer = () => ({ raw: (socket) => drip(t, socket, HEAD) });
		const startedMs = performance.now();
		const { outcome, timings, excerpt } = await post();
		deepEqual(outcome, { kind: "answered", status: 500 });
		const answerMs = timings.answerMs;
		const answer = await excerpt;
		match(answer?.body ?? "", /^begin\.*$/);
		equal(answer?.isCut, true);
		const tookMs = performance.now() - startedMs;
		ok(tookMs >= 490 && tookMs < SOON_MS, `${tookMs} ms`);
		equal(timings.answerMs, answerMs, "the timings are those of the headers");
	});

	test("is cut by the attempt's own deadline if that comes first", async (t) => {
		const { shop, post } = await open(t, SHORT_DEADLINE_MS);
		const closed = Promise.withResolvers<boolean>();
		let isKept = false;
		shop.answer = () => ({
			raw(socket) {
				drip(t, socket, HEAD);
				socket.once("close", () => closed.resolve(isKept));
			},
		});
		let answer = await post();
		// On a busy machine a handshake may take longer than the deadline. The next try resumes the TLS session
		// and is faster.
		for (let tries = 0; answer.outcome.kind === "timeout" && tries < 20; tries++) answer = await post();
		void answer.excerpt?.then(() => {
			isKept = true;
		});
		deepEqual(answer.outcome, { kind: "answered", status: 500 });
		equal(await closed.promise, true, "nothing waits any more when the connection is gone");
	});

	test("does not delay the closing of the transport", async (t) => {
		const { shop, post, transport } = await open(t);
		shop.answer = () => ({ raw: (socket) => drip(t, socket, HEAD) });
		const { excerpt } = await post();
		await transport.close();
		equal((await excerpt)?.isCut, true);
	});

	test("that breaks off leaves the bytes that arrived", async (t) => {
		const { answer } = await open(t);
		const excerpt = await answer({ raw: (socket) => socket.end(HEAD) });
		deepEqual([excerpt?.body, excerpt?.isCut], ["begin", true]);
	});
});

interface Opened {
	shop: Shop;
	transport: Transport;
	post: () => Promise<PostbackAnswer>;
	/** Sends an answer and returns the part of it that is stored. */
	answer: (answer: ShopAnswer) => Promise<Awaited<PostbackAnswer["excerpt"]>>;
}

async function open(t: TestContext, deadlineMs = PATIENT_DEADLINE_MS): Promise<Opened> {
	const shop = await startShop();
	t.after(() => shop.close());
	const allowed = parseRange("127.0.0.0/8");
	ok(allowed);
	const transport = createHttpsTransport({
		allowedPrivateRanges: [allowed],
		trustedCa: shop.caPem,
		deadlineMs,
	});
	t.after(() => transport.close());
	const post = () => transport.post({ url: shop.url(), headers: [], body: "{}" });
	const answer: Opened["answer"] = async (given) => {
		shop.answer = () => given;
		return (await post()).excerpt;
	};
	return { shop, transport, post, answer };
}

function drip(t: TestContext, socket: Socket, first: string): void {
	socket.write(first);
	const timer = setInterval(() => socket.write("."), DRIP_MS);
	void once(socket, "close").finally(() => clearInterval(timer));
	t.after(() => clearInterval(timer));
}

/** Sends data without an end, as fast as the client reads it. */
function pour(t: TestContext, socket: Socket, head: string): void {
	const chunk = `400\r\n${"x".repeat(0x400)}\r\n`;
	const more = () => {
		while (!socket.destroyed && socket.write(chunk));
	};
	socket.write(head);
	socket.on("drain", more);
	t.after(() => socket.destroy());
	more();
}
