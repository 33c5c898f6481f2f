import assert from "node:assert/strict";
import { test } from "node:test";
import { createNonceMemory } from "./nonce-memory.ts";
import type { RefusalReason } from "./refusal.ts";
import { sampleDelivery, sampleEvent, sampleSeconds, sampleSecret } from "./sample-delivery.test-support.ts";
import { verifyPostback } from "./verify.ts";

type Request = Parameters<typeof verifyPostback>[0];

test("a genuine delivery is accepted and returns its event", async () => {
	assert.deepEqual(await verifyPostback(sampleDelivery()), { ok: true, event: sampleEvent });
});

test("a clock may be given as a date", async () => {
	const now = new Date(sampleSeconds * 1000);
	assert.equal((await verifyPostback({ ...sampleDelivery(), now })).ok, true);
	assert.equal(await reasonFor({ ...sampleDelivery(), now: new Date(Number.NaN) }), "stale_timestamp");
});

test("without a clock the present time decides", async () => {
	const { now: _, ...fresh } = sampleDelivery({ timestamp: String(Math.floor(Date.now() / 1000)) });
	assert.equal((await verifyPostback(fresh)).ok, true);
	const { now: __, ...old } = sampleDelivery();
	assert.equal(await reasonFor(old), "stale_timestamp");
});

const accepted: [string, Request][] = [
	["300 s behind the clock", sampleDelivery({ timestamp: String(sampleSeconds - 300) })],
	["300 s ahead of the clock", sampleDelivery({ timestamp: String(sampleSeconds + 300) })],
	[
		"300 s behind at the end of the second",
		{ ...sampleDelivery({ timestamp: String(sampleSeconds - 300) }), now: sampleSeconds * 1000 + 999 },
	],
	["a timestamp with leading zeros", sampleDelivery({ timestamp: `000${sampleSeconds}` })],
	["an upper-case signature", withHeader("X-Service-Signature", (value) => value.toUpperCase())],
	["a web Headers", { ...sampleDelivery(), headers: new Headers(sampleDelivery().headers) }],
	["a body of bytes", { ...sampleDelivery(), rawBody: Buffer.from(JSON.stringify(sampleEvent)) }],
	["a body that is a part of a larger buffer", { ...sampleDelivery(), rawBody: bodyInsideBuffer() }],
	["a body with white space around it", sampleDelivery({ rawBody: ` \r\n${JSON.stringify(sampleEvent)}\n` })],
	["another brand", { ...sampleDelivery({ brand: "Acme" }), brand: "Acme" }],
	["another event in the header, which is not signed", sampleDelivery({ eventName: "conversion.approved" })],
	["no event header", withHeader("X-Service-Event", () => undefined)],
	["its secret first of several", { ...sampleDelivery(), secret: [sampleSecret, "other"] }],
	["its secret last of several", { ...sampleDelivery(), secret: ["", "other", sampleSecret] }],
	["its secret in a text with commas", { ...sampleDelivery(), secret: `other,${sampleSecret}` }],
];
for (const [condition, request] of accepted) {
	test(`a delivery is accepted with ${condition}`, async () => {
		assert.deepEqual(await verifyPostback(request), { ok: true, event: sampleEvent });
	});
}

const refused: [RefusalReason, string, Request][] = [
	["missing_header", "no headers", { ...sampleDelivery(), headers: {} }],
	["missing_header", "no timestamp header", withHeader("X-Service-Timestamp", () => undefined)],
	["missing_header", "no nonce header", withHeader("X-Service-Nonce", () => undefined)],
	["missing_header", "no signature header", withHeader("X-Service-Signature", () => undefined)],
	["missing_header", "an empty nonce header", sampleDelivery({ nonce: "" })],
	["missing_header", "the headers of another brand", { ...sampleDelivery(), brand: "Acme" }],
	...[
		"now",
		"-1",
		"+1767225600",
		"1767225600.0",
		"1.7e9",
		"0x6955b900",
		" 1767225600",
		"1767225600\n",
		"١٧٦٧",
	].map((timestamp): [RefusalReason, string, Request] => [
		"malformed_timestamp",
		`the timestamp ${JSON.stringify(timestamp)}`,
		sampleDelivery({ timestamp }),
	]),
	["stale_timestamp", "301 s behind the clock", sampleDelivery({ timestamp: String(sampleSeconds - 301) })],
	["stale_timestamp", "301 s ahead of the clock", sampleDelivery({ timestamp: String(sampleSeconds + 301) })],
	["stale_timestamp", "milliseconds", sampleDelivery({ timestamp: String(sampleSeconds * 1000) })],
	["stale_timestamp", "a timestamp beyond every number", sampleDelivery({ timestamp: "9".repeat(400) })],
	["stale_timestamp", "a clock that is not a number", { ...sampleDelivery(), now: Number.NaN }],
	["bad_signature", "another secret", { ...sampleDelivery(), secret: "other" }],
	["bad_signature", "no secret that matches", { ...sampleDelivery(), secret: ["other", "another"] }],
	["bad_signature", "an empty secret", { ...sampleDelivery(), secret: "" }],
	["bad_signature", "no secret at all", { ...sampleDelivery(), secret: [] }],
	["bad_signature", "commas without a secret", { ...sampleDelivery(), secret: "," }],
	["bad_signature", "the query string cut off", { ...sampleDelivery(), path: "/postback" }],
	["bad_signature", "an escape undone", { ...sampleDelivery({ path: "/a%20b" }), path: "/a b" }],
	[
		"bad_signature",
		"JSON written again",
		{ ...sampleDelivery(), rawBody: JSON.stringify(sampleEvent, null, 1) },
	],
	["bad_signature", "a body sent without a valid signature", { ...sampleDelivery(), rawBody: "not JSON" }],
	["bad_signature", "two signatures", withHeader("X-Service-Signature", (value) => `${value}, ${value}`)],
	["bad_signature", "a signature that is not hex", withHeader("X-Service-Signature", () => "z".repeat(64))],
	["malformed_body", "a signed body that is not JSON", sampleDelivery({ rawBody: "not JSON" })],
	["malformed_body", "a signed body that is empty", sampleDelivery({ rawBody: "" })],
	["malformed_body", "an amount as a number", sampleDelivery({ rawBody: bodyWith({ commission: 10.39 }) })],
];
for (const [reason, condition, request] of refused) {
	test(`${reason} with ${condition}`, async () => assert.equal(await reasonFor(request), reason));
}

test("if all headers are missing, the refusal mentions the brand; if one is there, the brand is right", async () => {
	const detailOf = async (request: Request) => {
		const found = await verifyPostback(request);
		return found.ok ? "" : found.detail;
	};
	assert.match(
		await detailOf({ ...sampleDelivery(), brand: "Acme" }),
		/Check that "Acme" is the network's brand\.$/,
	);
	assert.doesNotMatch(await detailOf(withHeader("X-Service-Nonce", () => undefined)), /brand/);
});

test("the first thing wrong is the reason, in the contract's order", async () => {
	const allWrong = { ...sampleDelivery({ timestamp: "1", rawBody: "not JSON" }), secret: "other" };
	assert.equal(await reasonFor({ ...allWrong, headers: {} }), "missing_header");
	assert.equal(await reasonFor(allWrong), "stale_timestamp");
	assert.equal(await reasonFor({ ...allWrong, now: 1000 }), "bad_signature");
	assert.equal(await reasonFor({ ...allWrong, now: 1000, secret: sampleSecret }), "malformed_body");
});

test("a second request with the same nonce is refused as a replay, and one with another is not", async () => {
	const nonces = createNonceMemory({ now: () => sampleSeconds * 1000 });
	assert.equal(await reasonFor({ ...sampleDelivery(), nonces }), "accepted");
	assert.equal(await reasonFor({ ...sampleDelivery(), nonces }), "replayed_nonce");
	assert.equal(await reasonFor({ ...sampleDelivery({ nonce: "0011" }), nonces }), "accepted");
});

test("nothing of a request that is not genuine and fresh is remembered", async () => {
	const asked: string[] = [];
	const nonces = { remember: (nonce: string) => asked.push(nonce) > 0 };
	const { headers } = sampleDelivery();
	const strangers: Request[] = [
		{ ...sampleDelivery(), secret: "other" },
		{ ...sampleDelivery(), headers: { ...headers, "X-Service-Nonce": "00" } },
		{ ...sampleDelivery(), path: "/other" },
		sampleDelivery({ timestamp: "1" }),
	];
	for (const request of strangers) assert.equal((await verifyPostback({ ...request, nonces })).ok, false);
	assert.deepEqual(asked, []);
});

const remembered: [string, number, number][] = [
	["sent this second", 0, 301_000],
	["299 s old: five minutes all the same", -299, 301_000],
	["stamped 300 s ahead: for as long as a copy stays fresh", 300, 601_000],
];
for (const [condition, aheadSeconds, expectedMs] of remembered) {
	test(`a nonce is remembered for ${expectedMs / 1000} s when the request is ${condition}`, async () => {
		const kept: number[] = [];
		const nonces = { remember: async (_: string, forMs: number) => kept.push(forMs) > 0 };
		const timestamp = String(sampleSeconds + aheadSeconds);
		assert.equal(await reasonFor({ ...sampleDelivery({ timestamp }), nonces }), "accepted");
		assert.deepEqual(kept, [expectedMs]);
	});
}

test("an error of the nonce memory is passed on, because it says nothing about the request", async () => {
	const remember = () => Promise.reject(new Error("the memory is out of order"));
	await assert.rejects(verifyPostback({ ...sampleDelivery(), nonces: { remember } }), /out of order/);
});

test("a detail contains neither the secret nor what the sender wrote", async () => {
	const marked = { nonce: "marked", eventName: "marked", secret: "marked", rawBody: '{"marked":"marked"}' };
	const requests: Request[] = [
		sampleDelivery(marked),
		sampleDelivery({ ...marked, timestamp: "marked" }),
		sampleDelivery({ ...marked, rawBody: bodyWith({ orderId: "marked", test: "marked" }) }),
		{ ...sampleDelivery(marked), path: "/marked" },
	];
	for (const request of requests) {
		const result = await verifyPostback(request);
		assert.ok(!result.ok && !result.detail.includes("marked"), JSON.stringify(result));
	}
});

test("a body changed by the caller while it is verified does not change the event", async () => {
	const rawBody = Buffer.from(JSON.stringify(sampleEvent));
	const verifying = verifyPostback({ ...sampleDelivery(), rawBody });
	rawBody.fill(" ");
	assert.deepEqual(await verifying, { ok: true, event: sampleEvent });
});

async function reasonFor(request: Request): Promise<RefusalReason | "accepted"> {
	const result = await verifyPostback(request);
	return result.ok ? "accepted" : result.reason;
}

function withHeader(name: string, change: (value: string) => string | undefined): Request {
	const request = sampleDelivery();
	return { ...request, headers: { ...request.headers, [name]: change(request.headers[name] ?? "") } };
}

function bodyInsideBuffer(): Uint8Array {
	const body = Buffer.from(JSON.stringify(sampleEvent));
	return Buffer.concat([Buffer.from("before"), body, Buffer.from("after")]).subarray(6, 6 + body.length);
}

function bodyWith(changes: Record<string, unknown>): string {
	return JSON.stringify({ ...sampleEvent, ...changes });
}
