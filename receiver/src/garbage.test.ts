import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { sampleDelivery, sampleEvent } from "./sample-delivery.test-support.ts";
import { type Verification, verifyPostback } from "./verify.ts";

// The cast allows any argument, as in a program without type checking.
const verifyAnything = verifyPostback as (request: unknown) => Promise<Verification>;

const anything = fc.anything({
	withBigInt: true,
	withDate: true,
	withMap: true,
	withNullPrototype: true,
	withObjectString: true,
	withSet: true,
	withSparseArray: true,
	withTypedArray: true,
});

test("anything in place of the request is refused and never throws", async () => {
	await fc.assert(
		fc.asyncProperty(anything, async (request) => {
			assert.equal((await verifyAnything(request)).ok, false);
		}),
	);
});

test("anything in place of a part of a delivery never throws and never changes the event", async () => {
	const genuine = sampleDelivery();
	const part = <T>(value: T) => fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, anything);
	const header = (name: string) => part(genuine.headers[name]);
	const request = fc.record({
		path: part(genuine.path),
		rawBody: part(genuine.rawBody),
		secret: part(genuine.secret),
		now: part(genuine.now),
		brand: part("Service"),
		headers: fc.oneof(
			anything,
			fc.record({
				"X-Service-Event": header("X-Service-Event"),
				"X-Service-Timestamp": header("X-Service-Timestamp"),
				"X-Service-Nonce": header("X-Service-Nonce"),
				"X-Service-Signature": header("X-Service-Signature"),
			}),
		),
	});
	await fc.assert(
		fc.asyncProperty(request, async (garbled) => {
			const result = await verifyAnything(garbled);
			if (result.ok) assert.deepEqual(result.event, sampleEvent);
			else assert.ok(result.detail.length > 0);
		}),
		{ numRuns: 500 },
	);
});

test("any signed bytes as a body get an answer", async () => {
	const body = fc.oneof(fc.uint8Array(), fc.json().map(Buffer.from));
	await fc.assert(
		fc.asyncProperty(body, async (rawBody) => {
			const result = await verifyPostback(sampleDelivery({ rawBody }));
			assert.equal(result.ok || result.reason, "malformed_body");
		}),
	);
});

const fails = () => {
	throw new Error("not to be seen");
};
const hostile: [string, unknown][] = [
	["nothing", undefined],
	["null", null],
	["a request whose fields throw", new Proxy({}, { get: fails })],
	["headers whose get throws", { ...sampleDelivery(), headers: { get: fails } }],
	["headers that cannot be listed", { ...sampleDelivery(), headers: new Proxy({}, { ownKeys: fails }) }],
	["a symbol as a header", { ...sampleDelivery(), headers: { "X-Service-Nonce": Symbol("nonce") } }],
	["a brand no header name can hold", { ...sampleDelivery(), headers: new Headers(), brand: "a b\n" }],
	["a symbol as the brand", { ...sampleDelivery(), brand: Symbol("brand") }],
	["a clock in big integers", { ...sampleDelivery(), now: 1n }],
	["a path that is a URL", { ...sampleDelivery(), path: new URL("https://shop.example/postback?shop=42") }],
	["a parsed body", { ...sampleDelivery(), rawBody: sampleEvent }],
	["a detached body", { ...sampleDelivery(), rawBody: detachedBytes() }],
	[
		"a secret that is no string",
		{ ...sampleDelivery(), secret: { toString: () => sampleDelivery().secret } },
	],
	["secrets that are no strings", { ...sampleDelivery(), secret: [null, 1, Symbol("secret"), {}] }],
];
for (const [name, request] of hostile) {
	test(`verifying refuses and does not throw, given ${name}`, async () => {
		const result = await verifyAnything(request);
		assert.ok(!result.ok && !result.detail.includes("not to be seen"));
	});
}

function detachedBytes(): Uint8Array {
	const bytes = new Uint8Array(8);
	structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
	return bytes;
}
