import assert from "node:assert/strict";
import { test } from "node:test";
import { createReceiver } from "./receiver.ts";
import { sampleDelivery, sampleSeconds, sampleSecret } from "./sample-delivery.test-support.ts";

test("settled does not wait for work that the caller of receive never starts", async () => {
	const { receiver, arrival } = openShop();
	const { finish } = await receiver.receive(arrival);
	assert.ok(finish !== undefined);
	await receiver.settled();
});

test("settled waits for work that was started, once even if finish is called again", async () => {
	const work = Promise.withResolvers<void>();
	const { receiver, arrival } = openShop(() => work.promise);
	const { finish } = await receiver.receive(arrival);
	const finished = finish?.();
	const settling = watch(receiver.settled());
	await new Promise(setImmediate);
	assert.equal(settling.isDone(), false);
	work.resolve();
	await Promise.all([finished, settling.done]);
	void finish?.();
	await receiver.settled();
});

test("settled waits for work that has yet to begin, because the handler of web requests will begin it", async () => {
	const work = Promise.withResolvers<void>();
	const { receiver, arrival } = openShop(() => work.promise);
	const { path, ...init } = arrival;
	const response = await receiver.fetch(new Request(`http://shop.example${path}`, init));
	assert.equal(response.status, 204);
	const settling = watch(receiver.settled());
	await new Promise(setImmediate);
	assert.equal(settling.isDone(), false);
	work.resolve();
	await settling.done;
});

function openShop(onEvent: () => unknown = () => undefined) {
	const receiver = createReceiver({ secret: sampleSecret, onEvent, now: () => sampleSeconds * 1000 });
	const { path, headers, rawBody } = sampleDelivery();
	return { receiver, arrival: { method: "POST", path, headers, body: String(rawBody) } };
}

function watch(promise: Promise<void>) {
	let isDone = false;
	const done = promise.then(() => {
		isDone = true;
	});
	return { done, isDone: () => isDone };
}
