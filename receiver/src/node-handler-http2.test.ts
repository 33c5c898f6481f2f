import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Stream, connect, createServer } from "node:http2";
import { type TestContext, test } from "node:test";
import { createReceiver, type Receiver } from "./receiver.ts";
import type { ReceiverOptions } from "./receiver-options.ts";
import { sampleDelivery, sampleSeconds, sampleSecret } from "./sample-delivery.test-support.ts";

type Handle = Receiver["node"];

test("over HTTP/2 a delivery is answered 204 and processed", async (t) => {
	const shop = await openShop(t);
	assert.equal(await shop.post(), 204);
	await shop.receiver.settled();
	assert.equal(shop.worked.length, 1);
});

test("over HTTP/2 a body that is not read to its end is answered 413, without a warning of Node", async (t) => {
	const warnings: Error[] = [];
	const keep = (warning: Error) => warnings.push(warning);
	process.on("warning", keep);
	t.after(() => process.off("warning", keep));
	const shop = await openShop(t);
	assert.equal(await shop.announce("99999999999"), 413);
	// The connection must still work after the refusal.
	assert.equal(await shop.post(), 204);
	await new Promise(setImmediate);
	assert.deepEqual(warnings, []);
});

test("over HTTP/2 an event is processed although its sender disconnected before the handler ran", async (t) => {
	const begun = Promise.withResolvers<void>();
	const shop = await openShop(t, (receive) => async (request, response) => {
		const { rawBody } = sampleDelivery();
		Object.assign(request, { rawBody });
		const closed = new Promise<void>((resolve) => response.once("close", resolve));
		begun.resolve();
		await closed;
		return receive(request, response);
	});
	const sending = shop.open();
	await begun.promise;
	sending.close();
	await shop.handled();
	assert.equal(shop.worked.length, 1);
});

async function openShop(t: TestContext, wrap: (receive: Handle) => Handle = (receive) => receive) {
	const worked: unknown[] = [];
	const options: ReceiverOptions = {
		secret: sampleSecret,
		onEvent: (event) => worked.push(event),
		onRefused: () => undefined,
		now: () => sampleSeconds * 1000,
	};
	const receiver = createReceiver(options);
	const handle = wrap(receiver.node);
	const handled = Promise.withResolvers<void>();
	const server = createServer((request, response) => {
		handle(request, response).then(handled.resolve, handled.reject);
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const address = server.address();
	assert.ok(address !== null && typeof address === "object");
	const session = connect(`http://127.0.0.1:${address.port}`);
	t.after(async () => {
		await new Promise<void>((resolve) => session.close(resolve));
		await new Promise((resolve) => server.close(resolve));
	});
	const { headers, rawBody } = sampleDelivery();
	const open = () => session.request({ ":method": "POST", ":path": "/postback?shop=42", ...headers });
	return {
		receiver,
		worked,
		open,
		handled: () => handled.promise,
		post: () => readStatus(open().end(rawBody)),
		/** Sends the headers of a request whose body never arrives. */
		async announce(contentLength: string) {
			const sending = session.request({ ":method": "POST", "content-length": contentLength });
			const status = await readStatus(sending);
			sending.close();
			return status;
		},
	};
}

async function readStatus(sending: ClientHttp2Stream): Promise<unknown> {
	const [answer] = await once(sending, "response");
	sending.resume();
	return answer[":status"];
}
