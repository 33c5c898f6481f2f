import assert from "node:assert/strict";
import { test } from "node:test";
import { type Client, createClient } from "./create-client.ts";
import {
	apiKey,
	type PlannedAnswer,
	sampleConversion,
	secret,
	startFailingService,
} from "./failing-service.test-support.ts";

const hasty = { firstDelayMs: 1, maxDelayMs: 2 };
const sale = { orderId: "A-1001", basketValue: "129.90" };
const done = { outcome: "RECORDED", conversion: sampleConversion };

function clientOf(url: string): Client {
	return createClient({ url, apiKey, secret, retry: hasty });
}

function answered(...results: readonly unknown[]): PlannedAnswer {
	return { status: 200, body: { results } };
}

test("items are sent unchanged in one signed call, and each result is at the same position", async (t) => {
	const problem = {
		type: "…",
		title: "…",
		status: 422,
		code: "unknown_field",
		detail: "No.",
		field: "colour",
	};
	const busy = {
		status: 503,
		code: "unavailable",
		detail: "This order is being changed by others right now.",
	};
	const service = await startFailingService(t, answered(done, { problem }, { problem: busy }));
	const sales = [sale, Object.assign({ colour: "red" }, sale), sale];
	assert.deepEqual(await clientOf(service.url).recordMany(sales), {
		ok: true,
		attempts: 1,
		results: [
			{ ok: true, ...done },
			{
				ok: false,
				kind: "refused",
				retryable: false,
				status: 422,
				code: "unknown_field",
				detail: "No.",
				field: "colour",
			},
			{ ok: false, kind: "unavailable", retryable: true, status: 503, detail: busy.detail },
		],
	});
	const [request] = service.requests;
	assert.deepEqual(
		[request?.path, request?.body],
		["/v1/conversions/batch", JSON.stringify({ items: sales })],
	);
});

test("decisions go to their own call", async (t) => {
	const service = await startFailingService(t, answered({ ...done, outcome: "REJECTED" }));
	const decisions = [{ decision: "reject", orderId: "A-1001", reason: "FRAUD" }] as const;
	const result = await clientOf(service.url).decideMany(decisions);
	assert.deepEqual(result.ok && result.results.map((one) => one.ok && one.outcome), ["REJECTED"]);
	const [request] = service.requests;
	assert.deepEqual(
		[request?.path, request?.body],
		["/v1/decisions/batch", JSON.stringify({ items: decisions })],
	);
});

test("a list is read once, so later changes by the caller have no effect", async (t) => {
	const service = await startFailingService(t, "cut", answered(done, done));
	const sales = [sale, sale];
	const call = clientOf(service.url).recordMany(sales);
	sales.splice(0, 2, { orderId: "another", basketValue: "1" });
	const result = await call;
	assert.deepEqual([result.ok && result.results.length, result.attempts], [2, 2]);
	assert.deepEqual(new Set(service.requests.map(({ body }) => body)).size, 1);
});

const unsent: readonly (readonly [what: string, items: unknown, detail: RegExp])[] = [
	["no list", sale, /^The argument must be a list\. Nothing was sent\.$/],
	["an empty list", [], /^The list must have 1 to 500 items, and has 0: .* Nothing was sent\.$/],
	["501 items", Array.from({ length: 501 }, () => sale), /and has 501: make a call for each 500\. Nothing/],
	["a bigint", [{ ...sale, basketValue: 12n }], /cannot be written as JSON/],
];

for (const [what, items, detail] of unsent) {
	test(`${what} is refused before anything is sent`, async (t) => {
		const service = await startFailingService(t, answered());
		const client: { recordMany(items: unknown): ReturnType<Client["recordMany"]> } = clientOf(service.url);
		const result = await client.recordMany(items);
		assert.ok(!result.ok && result.kind === "refused");
		assert.deepEqual([result.code, result.status, result.attempts], ["invalid_field", null, 0]);
		assert.match(result.detail, detail);
		assert.equal(service.requests.length, 0);
	});
}

const another = { ...done, conversion: { ...sampleConversion, orderId: "A-2" } };
const strange: readonly (readonly [what: string, answer: PlannedAnswer, items?: readonly object[]])[] = [
	["no list of results", { status: 200, body: done }],
	["fewer results than items", answered(done), [sale, sale]],
	["more results than items", answered(done, done)],
	["a result of another order", answered(another)],
	["an outcome that nobody asked for", answered({ ...done, outcome: "REVERSED" })],
	["neither outcome nor problem", answered({})],
	["a problem without a code", answered({ problem: { status: 422, detail: "No." } })],
	["a problem without a status", answered({ problem: { code: "unknown_order", detail: "No." } })],
	["an item without an order that was done", answered(done), [{}]],
];

for (const [what, answer, items = [sale]] of strange) {
	test(`an answer with ${what} is reported as unexpected and not retried`, async (t) => {
		const service = await startFailingService(t, answer);
		const client: { recordMany(items: unknown): ReturnType<Client["recordMany"]> } = clientOf(service.url);
		const result = await client.recordMany(items);
		assert.deepEqual([!result.ok && result.kind, result.attempts], ["unexpected", 1]);
		assert.equal(service.requests.length, 1);
	});
}

test("an item's problem that echoes the key or the secret is reported without them", async (t) => {
	const detail = `You sent ${apiKey} and ${secret}.`;
	const problem = { status: 422, code: "invalid_field", detail, field: secret };
	const service = await startFailingService(t, answered({ problem }));
	const result = await clientOf(service.url).recordMany([sale]);
	const told = JSON.stringify(result);
	assert.match(told, /You sent \[hidden\] and \[hidden\]\./);
	assert.ok(!told.includes(apiKey) && !told.includes(secret));
});
