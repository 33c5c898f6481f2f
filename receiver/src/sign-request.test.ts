import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";
import known from "../vectors.json" with { type: "json" };
import { type RequestToSign, signRequest } from "./sign-request.ts";

const sample = {
	method: "POST",
	path: "/v1/conversions",
	body: '{"orderId":"A-1001","basketValue":"129.90"}',
	secret: "example-signing-secret",
	apiKey: "rbk_example",
} satisfies RequestToSign;

test("there are vectors for requests of both methods, with and without a body", () => {
	const toService = known.vectors.filter(({ target }) => target.startsWith("/v1/"));
	assert.ok(toService.filter(({ method, bodyBase64 }) => method === "GET" && bodyBase64 === "").length >= 2);
	assert.ok(toService.filter(({ method, bodyBase64 }) => method === "POST" && bodyBase64 !== "").length >= 2);
});

for (const vector of known.vectors) {
	test(`the signature is that of openssl: ${vector.name}`, async () => {
		const body = Buffer.from(vector.bodyBase64, "base64");
		const { headers } = await signRequest({
			method: vector.method,
			path: vector.target,
			...(body.length === 0 ? {} : { body }),
			secret: vector.secret,
			apiKey: "rbk_example",
			nonce: vector.nonce,
			now: Number(vector.timestamp) * 1000 + 999,
		});
		assert.deepEqual(headers, {
			Authorization: "Bearer rbk_example",
			...(body.length === 0 ? {} : { "Content-Type": "application/json" }),
			"X-Service-Timestamp": vector.timestamp,
			"X-Service-Nonce": vector.nonce,
			"X-Service-Signature": vector.signature,
		});
	});
}

test("a string and its UTF-8 bytes have the same signature, even inside a larger buffer", async () => {
	const text = '{"orderId":"Bestellung-äöü-✓"}';
	const padded = Buffer.from(`xx${text}yy`);
	const inside = padded.subarray(2, padded.length - 2);
	const signatures = await Promise.all(
		[text, Buffer.from(text), new TextEncoder().encode(text), inside].map(async (body) => {
			const { headers } = await signRequest({
				...sample,
				body,
				nonce: "fixed-nonce",
				now: 1_767_225_600_000,
			});
			return headers["X-Service-Signature"];
		}),
	);
	assert.equal(new Set(signatures).size, 1);
	assert.equal(signatures[0], signByHand(text, "fixed-nonce", "1767225600"));
});

test("by default the time is now and every nonce is new", async () => {
	const before = Math.floor(Date.now() / 1000);
	const signed = await Promise.all(Array.from({ length: 50 }, () => signRequest(sample)));
	const after = Math.floor(Date.now() / 1000);
	const nonces = signed.map(({ headers }) => headers["X-Service-Nonce"] ?? "");
	assert.equal(new Set(nonces).size, 50);
	for (const nonce of nonces) assert.match(nonce, /^[0-9a-f]{32}$/);
	for (const { headers } of signed) {
		const timestamp = Number(headers["X-Service-Timestamp"]);
		assert.ok(timestamp >= before && timestamp <= after);
	}
});

test("a Date is equivalent to its milliseconds", async () => {
	const fixed = { ...sample, nonce: "fixed-nonce" };
	const signed = await signRequest({ ...fixed, now: new Date(1_767_225_600_999) });
	assert.deepEqual(signed, await signRequest({ ...fixed, now: 1_767_225_600_000 }));
});

test("another brand changes the three header names but not the signature", async () => {
	const fixed = { ...sample, nonce: "fixed-nonce", now: 1_767_225_600_000 };
	const service = await signRequest(fixed);
	const acme = await signRequest({ ...fixed, brand: "Acme" });
	assert.deepEqual(Object.keys(acme.headers), [
		"Authorization",
		"Content-Type",
		"X-Acme-Timestamp",
		"X-Acme-Nonce",
		"X-Acme-Signature",
	]);
	assert.equal(acme.headers["X-Acme-Signature"], service.headers["X-Service-Signature"]);
});

test("the headers contain nothing of the secret", async () => {
	const { headers } = await signRequest(sample);
	assert.equal(JSON.stringify(headers).includes(sample.secret), false);
});

test("a request is signed without the global crypto, as on Node 18", async () => {
	const global = Object.getOwnPropertyDescriptor(globalThis, "crypto");
	Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
	try {
		const { headers } = await signRequest({ ...sample, now: 1_767_225_600_000 });
		const nonce = headers["X-Service-Nonce"] ?? "";
		assert.equal(headers["X-Service-Signature"], signByHand(String(sample.body), nonce, "1767225600"));
	} finally {
		if (global) Object.defineProperty(globalThis, "crypto", global);
		else Reflect.deleteProperty(globalThis, "crypto");
	}
});

// These mistakes are possible in plain JavaScript, where no types prevent them.
const mistakes: ReadonlyArray<readonly [what: string, change: object, names: RegExp]> = [
	["a method in small letters", { method: "post" }, /^method /],
	["no method", { method: undefined }, /^method /],
	["a whole URL for a path", { path: "https://ringback.example/v1/conversions" }, /^path /],
	["a path with a space", { path: "/v1/conversions?orderId=A 1" }, /^path /],
	["a path with a line feed", { path: "/v1/conversions\n" }, /^path /],
	["a path with a fragment", { path: "/v1/conversions#top" }, /^path /],
	["a path that is not ASCII", { path: "/v1/conversions?orderId=ä" }, /^path /],
	["an empty secret", { secret: "" }, /^secret /],
	["no secret", { secret: undefined }, /^secret /],
	["an empty key", { apiKey: "" }, /^apiKey /],
	["a key with a line feed", { apiKey: "rbk_example\n" }, /^apiKey /],
	["a brand that is no header name", { brand: "Acme Inc" }, /^brand /],
	["a nonce that is too short", { nonce: "1234567" }, /^nonce /],
	["a nonce with a line feed", { nonce: "12345678\n" }, /^nonce /],
	["a clock that gives nothing", { now: Number.NaN }, /^now /],
	["a Date without a time", { now: new Date(Number.NaN) }, /^now /],
	["a clock before 1970", { now: -1 }, /^now /],
	["an object for a body", { body: { orderId: "A-1001" } }, /^body /],
];

for (const [what, change, names] of mistakes) {
	test(`${what} is refused with a sentence that quotes no value`, async () => {
		await assert.rejects(signRequest({ ...sample, ...change }), (error) => {
			assert.ok(error instanceof TypeError);
			assert.match(error.message, names);
			for (const value of ["rbk_example", "example-signing-secret", "A-1001"]) {
				assert.equal(error.message.includes(value), false);
			}
			return true;
		});
	});
}

function signByHand(body: string, nonce: string, timestamp: string): string {
	const digest = createHash("sha256").update(body).digest("hex");
	const canonical = `POST\n/v1/conversions\n${timestamp}\n${nonce}\n${digest}`;
	return createHmac("sha256", sample.secret).update(canonical).digest("hex");
}
