import assert from "node:assert/strict";
import { test } from "node:test";
import type { PostbackEvent } from "./event.ts";
import { createReceiver, type Receiver } from "./receiver.ts";
import { sampleDelivery, sampleEvent, sampleSeconds, sampleSecret } from "./sample-delivery.test-support.ts";

test("a delivery is answered 204 without a body, and its work follows the answer", async () => {
	const { receiver, worked } = openShop();
	const response = await receiver.fetch(requestOf());
	assert.deepEqual([response.status, response.body], [204, null]);
	assert.deepEqual(worked, []);
	await receiver.settled();
	assert.deepEqual(worked, [sampleEvent]);
});

test("a runtime with waitUntil gets the work to wait for, called on its own object", async () => {
	const { receiver, worked } = openShop();
	const context = {
		waitedFor: [] as Promise<unknown>[],
		waitUntil(promise: Promise<unknown>) {
			this.waitedFor.push(promise);
		},
	};
	await receiver.fetch(requestOf(), context);
	assert.deepEqual([context.waitedFor.length, worked.length], [1, 0]);
	await Promise.all(context.waitedFor);
	assert.equal(worked.length, 1);
});

for (const [how, waitUntil] of [
	["throws", () => assert.fail("illegal invocation")],
	["rejects", () => Promise.reject(new Error("illegal invocation"))],
] as const) {
	test(`if waitUntil ${how}, the event is acknowledged and processed all the same, and it is reported`, async () => {
		const { receiver, worked, errors } = openShop();
		assert.equal((await receiver.fetch(requestOf(), { waitUntil })).status, 204);
		await receiver.settled();
		assert.equal(worked.length, 1);
		assert.deepEqual(
			errors.map((error) => error instanceof Error && error.message),
			["illegal invocation"],
		);
	});
}

test("a refusal leaves nothing to wait for", async () => {
	const { receiver } = openShop();
	const waitUntil = () => assert.fail("asked to wait");
	assert.equal((await receiver.fetch(requestOf({ secret: "other" }), { waitUntil })).status, 401);
});

for (const context of [undefined, null, {}, { waitUntil: "none" }, { remoteAddr: {} }, 5]) {
	test(`work is done with ${JSON.stringify(context)} in the place of a context`, async () => {
		const { receiver, worked } = openShop();
		const fetch = receiver.fetch as (request: Request, context: unknown) => Promise<Response>;
		assert.equal((await fetch(requestOf(), context)).status, 204);
		await receiver.settled();
		assert.equal(worked.length, 1);
	});
}

for (const path of ["/", "/?", "/postback?", "/a%20b/%C3%BC?x=%2F&y=", "/a//b?c=d?e", "/?@#"]) {
	test(`the path ${path} is verified as it was signed`, async () => {
		const signed = path.replace("#", "");
		assert.equal((await openShop().receiver.fetch(requestOf({ path: signed }, path))).status, 204);
	});
}

test("a body that was already read is answered 500, with advice in the log", async () => {
	const { receiver, errors } = openShop();
	const request = requestOf();
	await request.json();
	assert.equal((await receiver.fetch(request)).status, 500);
	assert.match(String(errors[0]), /before whatever parses bodies/);
});

test("a body that is too large is answered 413, and an endless one is not read on", async () => {
	const { receiver } = openShop();
	assert.equal((await receiver.fetch(requestOf({ rawBody: " ".repeat(65_537) }))).status, 413);
	let pulls = 0;
	let isCancelled = false;
	const body = new ReadableStream({
		pull: (controller) => controller.enqueue(new Uint8Array(++pulls && 65_536)),
		cancel: () => {
			isCancelled = true;
		},
	});
	const request = new Request("http://shop.example/", { method: "POST", body, duplex: "half" });
	assert.equal((await receiver.fetch(request)).status, 413);
	assert.equal(isCancelled, true);
	// The receiver reads 64 KiB within the limit and discards 1 MiB. The stream may have buffered a few more
	// chunks.
	assert.ok(pulls <= 20, `${pulls} pieces`);
});

test("a body announced as much too large is not read at all", async () => {
	const { receiver } = openShop();
	const body = new ReadableStream({ pull: () => assert.fail("it was read") }, { highWaterMark: 0 });
	const headers = { "content-length": "99999999999" };
	const request = new Request("http://shop.example/", { method: "POST", headers, body, duplex: "half" });
	assert.equal((await receiver.fetch(request)).status, 413);
});

test("a body that breaks off is answered 408", async () => {
	const { receiver } = openShop();
	const body = new ReadableStream({ pull: () => Promise.reject(new Error("reset")) });
	const request = new Request("http://shop.example/", { method: "POST", body, duplex: "half" });
	assert.equal((await receiver.fetch(request)).status, 408);
});

test("a request without a body is refused like any other unsigned request", async () => {
	const { receiver } = openShop();
	assert.equal((await receiver.fetch(new Request("http://shop.example/", { method: "POST" }))).status, 401);
	assert.equal((await receiver.fetch(new Request("http://shop.example/"))).status, 405);
});

function openShop(): { receiver: Receiver; worked: PostbackEvent[]; errors: unknown[] } {
	const worked: PostbackEvent[] = [];
	const errors: unknown[] = [];
	const receiver = createReceiver({
		secret: sampleSecret,
		onEvent: (event) => worked.push(event),
		onRefused: () => undefined,
		onError: (error) => errors.push(error),
		now: () => sampleSeconds * 1000,
	});
	return { receiver, worked, errors };
}

function requestOf(changes: Parameters<typeof sampleDelivery>[0] = {}, sentPath?: string): Request {
	const { path, headers, rawBody } = sampleDelivery(changes);
	const body = typeof rawBody === "string" ? rawBody : Buffer.from(rawBody);
	return new Request(`http://shop.example${sentPath ?? path}`, { method: "POST", headers, body });
}
