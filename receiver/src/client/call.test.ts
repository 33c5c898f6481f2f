import assert from "node:assert/strict";
import { test } from "node:test";
import { type Client, createClient } from "./create-client.ts";
import {
	apiKey,
	type FailingService,
	recorded,
	sampleConversion,
	secret,
	startFailingService,
} from "./failing-service.test-support.ts";
import type { ClientOptions } from "./options.ts";

const sale = { orderId: "A-1001", basketValue: "129.90" };
const hasty = { firstDelayMs: 1, maxDelayMs: 2 };
const nowhere = { url: "http://127.0.0.1:2" };
const copied = { status: 401, body: { code: "replayed_nonce", detail: "This nonce has been used before." } };

function clientOf(service: Pick<FailingService, "url">, options: Partial<ClientOptions> = {}): Client {
	return createClient({ url: service.url, apiKey, secret, retry: hasty, ...options });
}

/** Fetch functions that answer late or never, and ignore their abort signal. */
const deaf: ReadonlyArray<readonly [what: string, fetch: () => Promise<Response>]> = [
	["never answers", () => new Promise(() => undefined)],
	["answers and never ends its body", async () => new Response(new ReadableStream())],
];
for (const [what, fetch] of deaf) {
	test(`a custom fetch that ${what} is given up at the deadline, although it ignores its signal`, async () => {
		const client = clientOf(nowhere, { fetch, timeoutMs: 20, retry: { ...hasty, maxAttempts: 2 } });
		assert.deepEqual(await client.record(sale), {
			ok: false,
			kind: "unreachable",
			retryable: true,
			detail: "POST /v1/conversions: no answer within 20 ms.",
			attempts: 2,
		});
	});

	test(`a call whose fetch ${what} and ignores its signal is ended by the caller's signal`, async () => {
		const controller = new AbortController();
		const client = clientOf(nowhere, {
			fetch: () => {
				setImmediate(() => controller.abort());
				return fetch();
			},
		});
		const result = await client.record(sale, { signal: controller.signal });
		assert.deepEqual([!result.ok && result.kind, result.attempts], ["aborted", 1]);
	});
}

test("an answer that comes after the deadline is not left open", async () => {
	const late = Promise.withResolvers<Response>();
	const cancelled = Promise.withResolvers<void>();
	const client = clientOf(nowhere, { fetch: () => late.promise, timeoutMs: 20, retry: { maxAttempts: 1 } });
	assert.equal((await client.record(sale)).ok, false);
	late.resolve(new Response(new ReadableStream({ cancel: () => cancelled.resolve() })));
	await cancelled.promise;
});

test("a body that is too slow for the deadline is not left open", async () => {
	const cancelled = Promise.withResolvers<void>();
	const body = new ReadableStream({ cancel: () => cancelled.resolve() });
	const client = clientOf(nowhere, {
		fetch: async () => new Response(body),
		timeoutMs: 20,
		retry: { maxAttempts: 1 },
	});
	assert.equal((await client.record(sale)).ok, false);
	await cancelled.promise;
});

const other = { ...sampleConversion, orderId: "A-1002" };
const decisions: ReadonlyArray<readonly [outcome: string, call: (client: Client) => Promise<object>]> = [
	["RECORDED", (client) => client.record(sale)],
	["APPROVED", (client) => client.approve({ orderId: sale.orderId })],
	["REJECTED", (client) => client.reject({ orderId: sale.orderId, reason: "FRAUD" })],
	["REVERSED", (client) => client.reverse({ orderId: sale.orderId, reason: "RETURN" })],
];
for (const [outcome, call] of decisions) {
	test(`${outcome} about another order is reported as unexpected and not retried`, async (t) => {
		const service = await startFailingService(t, { status: 200, body: { outcome, conversion: other } });
		const { detail, ...result } = { detail: "", ...(await call(clientOf(service))) };
		assert.deepEqual(result, { ok: false, kind: "unexpected", retryable: true, status: 200, attempts: 1 });
		assert.match(detail, /it is about another order/);
		assert.equal(service.requests.length, 1);
	});
}

test("another conversion than the requested one is reported as unexpected", async (t) => {
	const body = { conversion: sampleConversion, refunds: [] };
	const service = await startFailingService(t, { status: 200, body });
	const result = await clientOf(service).conversion("cnv_1");
	assert.equal(!result.ok && result.kind, "unexpected");
	assert.match(result.ok ? "" : result.detail, /it is about another conversion/);
});

for (const [what, query, field] of [
	["that is null", null, "The query"],
	["that is a number", 5, "The query"],
	["that is a list", [], "The query"],
	["with an object for an order", { orderId: Object.create(null) }, "orderId"],
	["with a list of statuses", { status: ["RECORDED"] }, "status"],
	["with a symbol for an order", { orderId: Symbol("1001") }, "orderId"],
] as const) {
	test(`a query ${what} is refused before anything is sent, page by page or all at once`, async () => {
		const client = clientOf(nowhere, { fetch: () => assert.fail("it was sent") });
		const page = await client.conversions(query as object);
		assert.deepEqual(
			!page.ok && page.kind === "refused" && [page.code, page.status, page.field, page.attempts],
			["invalid_field", null, field, 0],
		);
		const listed = [];
		for await (const one of client.allConversions(query as object)) listed.push(one);
		assert.deepEqual(listed, [page]);
	});
}

test("null options count as missing", async (t) => {
	const page = { status: 200, body: { conversions: [sampleConversion], nextCursor: null } };
	const service = await startFailingService(t, recorded, page);
	const client = clientOf(service);
	const none = null as unknown as undefined;
	assert.equal((await client.record(sale, none)).ok, true);
	assert.equal((await client.conversions({}, none)).ok, true);
	for await (const one of client.allConversions({}, none)) assert.equal(one.ok, true);
});

test("after the refusal of a copy made on the way, the call is signed and sent once more", async (t) => {
	const duplicate = { status: 200, body: { outcome: "DUPLICATE", conversion: sampleConversion } };
	const service = await startFailingService(t, copied, duplicate);
	const result = await clientOf(service).record(sale);
	assert.deepEqual([result.ok && result.outcome, result.attempts], ["DUPLICATE", 2]);
	assert.equal(service.requests.length, 2);
});

test("the refusal of a second copy is reported, even if something else failed in between", async (t) => {
	for (const answers of [[copied], [copied, { status: 503 }, copied]]) {
		const service = await startFailingService(t, ...answers);
		const result = await clientOf(service).record(sale);
		assert.equal(!result.ok && result.kind === "refused" && result.code, "replayed_nonce");
		assert.match(result.ok ? "" : result.detail, /sent this request twice.* make the call again/);
		assert.equal(service.requests.length, Math.max(2, answers.length));
	}
});

test("the refusal of a copy is reported at once by a client that tries only once", async (t) => {
	const service = await startFailingService(t, copied);
	const result = await clientOf(service, { retry: { maxAttempts: 1 } }).record(sale);
	assert.equal(!result.ok && result.kind === "refused" && result.code, "replayed_nonce");
	assert.equal(service.requests.length, 1);
});
