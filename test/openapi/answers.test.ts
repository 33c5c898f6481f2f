// Compares the real answers to every call, and every problem, with /openapi.json.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import type { AppDeps } from "#core/api/deps.ts";
import { describeApi } from "#core/api/openapi/document.ts";
import { sampleBody } from "#core/api/openapi/operation.ts";
import { MAX_BATCH_BYTES } from "#core/api/order-call.ts";
import { expectRefusal, SALE, type Scenario } from "#core/api/refusal-scenario.test-support.ts";
import { CALLER_SCENARIOS } from "#core/api/refused-callers.test-support.ts";
import { CONTENT_SCENARIOS } from "#core/api/refused-content.test-support.ts";
import { EXAMPLE_ORDER_ID } from "#core/api/sale-fields.ts";
import { openTestShop, type TestShop } from "#core/api/test-shop.test-support.ts";
import { exampleFault, SIGNED_FAULT_CODES } from "#core/domain/fault.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { issueKey, revokeKey } from "#core/programmes/keys.ts";
import { MAX_STREAMS_A_RECEIVER } from "#modules/feeds/api/event-streams.ts";
import { API, SIGNED_ROUTES } from "../../src/site-modules.ts";
import { expectValue } from "../support/shop-account.ts";
import { type CallOptions, signedRequest } from "../support/signed-request.ts";
import { AnswerWatch } from "./answer-watch.ts";
import { DescribedApi } from "./described-api.ts";

const document = describeApi({ brand: "Service", publicUrl: "https://ringback.example" }, API);
const watch = new AnswerWatch(new DescribedApi(document));

const SCENARIOS: readonly (readonly [code: string, scenarios: readonly Scenario[]])[] = [
	...Object.entries(CALLER_SCENARIOS),
	...Object.entries(CONTENT_SCENARIOS),
];

const REFUND = { orderId: "A-1", refundId: "R-1", amount: "30.00", reason: "RETURN" };

/** The example request of each signed call. */
const CALLS = SIGNED_ROUTES.map((route) => {
	const { method, path, pathParameters = {} } = route;
	const target = path.replace(/\{(\w+)\}/g, (_, name: string) => pathParameters[name]?.example ?? "");
	return [method, target, sampleBody(route)] as const;
});
function heard(conversionId: string) {
	return { conversionId, event: "conversion.recorded", outcome: "answered", status: 204, tookMs: 3 };
}
const DECISIONS = CALLS.filter(([, target]) => /approvals|rejections|reversals/.test(target));

test("every accepted call is answered as described", async (t) => {
	const shop = watch.over(await openTestShop(t));
	const pixel = `/pixel/${shop.programme.public_id}.gif`;
	const post = (target: string, body: object) => shop.call("POST", target, { body });
	const sale = (orderId: string, more: object = {}) =>
		post("/v1/conversions", { orderId, basketValue: "12.5", ...more });
	const id = (await sale("A-1")).json.conversion?.id;
	await sale("A-1", { test: true });
	await shop.request(`${pixel}?orderId=A-2&basketValue=1.5&eventType=LEAD&currency=EUR&any=1`);
	await shop.call("GET", "/v1/conversions?status=PARKED&orderId=A-2");
	await sale("A-2", { basketValue: "2", eventType: "LEAD" });
	const occurredAt = "2026-03-01T12:04:59.123456789+00:00";
	await sale("A-3", { basketValue: "0", currency: "EUR", occurredAt });
	await sale("ä 😀 <b>", { basketValue: "999999999999.99", test: true, eventType: "OTHER" });
	const { nextCursor } = (await shop.call("GET", "/v1/conversions?limit=1")).json;
	await shop.call("GET", `/v1/conversions?limit=1&cursor=${nextCursor}`);
	await post("/v1/approvals", { orderId: "A-1" });
	await post("/v1/approvals", { orderId: "A-1", eventType: "SALE" });
	await post("/v1/refunds", { ...REFUND, amount: "1", currency: "EUR" });
	await shop.call("GET", "/v1/conversions?changedFrom=2026-01-01");
	await shop.call("GET", `/v1/conversions/${id}`);
	await shop.call("GET", "/v1/programme");
	await post("/v1/reversals", { orderId: "A-1", reason: "RETURN" });
	await post("/v1/rejections", { orderId: "A-2", eventType: "LEAD", reason: "INVALID_LEAD" });
	await shop.call("GET", `/v1/conversions/${id}`);
	await shop.call("GET", "/v1/conversions");
	for (const path of ["/healthz", "/readyz", `${pixel}?orderId=`]) await shop.request(path);
	const b1 = { orderId: "B-1", basketValue: "1" };
	await post("/v1/conversions/batch", { items: [b1, { ...b1, currency: "USD" }] });
	await post("/v1/decisions/batch", { items: [{ decision: "approve", orderId: "B-1" }] });
	const { amount: _, ...named } = { ...REFUND, orderId: "B-1" };
	await post("/v1/decisions/batch", { items: [{ decision: "refund", ...named, basketValue: "0.5" }] });
	await post("/v1/refunds", { ...named, refundId: "R-2", basketValue: "0", eventType: "SALE" });
	for (const target of ["/v1/conversions/batch", "/v1/decisions/batch"]) {
		await post(target, { items: [] });
		await post(target, { item: [] });
	}
	await openStream(shop, "?test=true");
	await post("/v1/events/answers", { answers: [heard(id ?? "")] });
	const unsaid = { ...heard(id ?? ""), status: undefined };
	for (const body of [{ answers: [] }, { answer: [] }, { answers: [unsaid] }])
		await post("/v1/events/answers", body);
});

test("amounts with the decimals of every currency match the description", async (t) => {
	const amounts = { JPY: "1299", EUR: "12.99", BHD: "12.999", CLF: "12.9999" };
	for (const [currency, basketValue] of Object.entries(amounts)) {
		const shop = watch.over(await openTestShop(t, { currency }));
		const body = { ...SALE, basketValue };
		equal((await shop.call("POST", "/v1/conversions", { body })).json.conversion?.basketValue, basketValue);
	}
});

for (const [code, scenarios] of SCENARIOS) {
	test(`${code}: every refusal with this code is answered as described, is logged, and stores nothing`, async (t) => {
		// A refused call stores nothing, so calls that need no history can share a shop.
		const common = await openTestShop(t);
		for (const scenario of scenarios) {
			const shop = scenario.prepare === undefined ? common : await openTestShop(t);
			await scenario.prepare?.(shop);
			await expectRefusal(watch.over(shop), code, scenario);
		}
	});
}

for (const [method, target, body] of CALLS) {
	test(`${method} ${target} answers unknown callers and failures as described`, async (t) => {
		const shop = watch.over(await openTestShop(t));
		const send = (options: Partial<CallOptions>) =>
			shop.call(method, target, { ...(body === undefined ? {} : { body }), ...options });
		const nonce = "1234567890";
		// The query is invalid, so that only the nonce is spent. A valid one would open a stream that does not end.
		await shop.call("GET", "/v1/conversions?page=2", { nonce });
		const answers = [
			await send({ nonce }),
			await send({ headers: { authorization: undefined } }),
			await send({ headers: { authorization: "Bearer rbk_nobody" } }),
			await send({ headers: { "x-service-nonce": undefined } }),
			await send({ headers: { "x-service-timestamp": "soon" } }),
			await send({ nowMs: 0 }),
			await send({ nonce: "short" }),
			await send({ headers: { "x-service-signature": "0".repeat(64) } }),
			await callWithRevokedKey(shop, method, target),
		];
		if (method === "POST") {
			answers.push(
				await send({ body: "x".repeat(MAX_BATCH_BYTES + 1) }),
				await send({ body: "{" }),
				await send({ headers: { "content-type": "text/plain" } }),
			);
		}
		await shop.store.db.deleteFrom("signing_secrets").execute();
		shop.store.announceChange(shop.programme.id);
		answers.push(await send({}));
		for (const error of [new Error("broken"), Object.assign(new Error("away"), { code: "ECONNREFUSED" })]) {
			const change = ({ store }: AppDeps) => ({
				store: { ...store, transact: () => Promise.reject(error) },
			});
			const broken = watch.over(await openTestShop(t, { change }));
			answers.push(await broken.call(method, target, { ...(body === undefined ? {} : { body }) }));
		}
		equal(new Set(answers.map(({ json }) => json.code)).size, answers.length, "each for a reason of its own");
	});
}

for (const [, target, body] of DECISIONS) {
	test(`${target} answers decisions that are not allowed as described`, async (t) => {
		const shop = watch.over(await openTestShop(t));
		const codes: unknown[] = [];
		const send = async (change: object) => {
			codes.push((await shop.call("POST", target, { body: { ...body, ...change } })).json.code);
		};
		await send({});
		await send({ orderId: 1 });
		await send({ amount: "1" });
		await send({ eventType: "sale" });
		await shop.request(`/pixel/${shop.programme.public_id}.gif?orderId=${EXAMPLE_ORDER_ID}&basketValue=1`);
		await send({});
		const expected = [
			"unknown_order",
			"invalid_field",
			"unknown_field",
			"unknown_event_type",
			"move_not_allowed",
		];
		if ("reason" in (body ?? {})) {
			await send({ reason: undefined });
			await send({ reason: "BORED" });
			expected.push("missing_reason", "unknown_reason");
		}
		deepEqual(codes, expected);
	});
}

test("/v1/refunds answers refunds that are not allowed as described", async (t) => {
	const shop = watch.over(await openTestShop(t));
	await shop.call("POST", "/v1/conversions", { body: SALE });
	for (const [change, code] of [
		[{ orderId: "A-2" }, "unknown_order"],
		[{ eventType: "sale" }, "unknown_event_type"],
		[{ refundId: 1 }, "invalid_field"],
		[{ refund: "R-1" }, "unknown_field"],
		[{ reason: undefined }, "missing_reason"],
		[{ reason: "BORED" }, "unknown_reason"],
		[{ amount: 1 }, "amount_not_a_string"],
		[{ amount: "1,5" }, "malformed_amount"],
		[{ amount: "-1" }, "negative_amount"],
		[{ amount: "1.005" }, "amount_too_precise"],
		[{ amount: "1000000000000" }, "amount_too_large"],
		[{ currency: "eur" }, "unknown_currency"],
		[{ currency: "USD" }, "wrong_currency"],
	] as const) {
		const { json } = await shop.call("POST", "/v1/refunds", { body: { ...REFUND, ...change } });
		equal(json.code, code);
	}
});

test("the stream answers invalid requests, and one stream too many, as described", async (t) => {
	const shop = watch.over(await openTestShop(t));
	for (const query of ["?test=maybe", "?page=2", "?after=nothing"])
		await shop.call("GET", `/v1/events${query}`);
	const streams: Response[] = [];
	for (let open = 0; open < MAX_STREAMS_A_RECEIVER; open++) streams.push(await requestStream(shop, ""));
	equal((await shop.call("GET", "/v1/events")).json.code, "too_many_streams");
	for (const stream of streams) await stream.body?.cancel();
});

test("a service that is not ready answers its load balancer as described", async (t) => {
	const shop = watch.over(await openTestShop(t, { change: () => ({ unready: () => "stopping" as const }) }));
	equal((await shop.request("/readyz")).status, 503);
});

test("every described answer was given, and no other", () => {
	const described = new Set(["elsewhere 404 not_found", "elsewhere 405 method_not_allowed"]);
	for (const { post, get } of Object.values(document.paths)) {
		for (const operation of [post, get]) {
			// The calls with a token have a test of their own (token-answers.test.ts).
			if (operation?.security.some((scheme) => "apiToken" in scheme)) continue;
			for (const [status, { content = {} }] of Object.entries(operation?.responses ?? {})) {
				for (const word of wordsOf(content)) described.add(`${operation?.operationId} ${status} ${word}`);
			}
		}
	}
	deepEqual([...watch.seen].sort(), [...described].sort());
	ok(
		watch.formRefusals.checked > 60,
		`${watch.formRefusals.checked} refusals for form were held against schemas`,
	);
	deepEqual(watch.formRefusals.beyond, 20);
});

test("the catalogue has exactly the problems that the API can answer", () => {
	const answered = [...SCENARIOS.map(([code]) => code), "internal", "unavailable"];
	deepEqual([...SIGNED_FAULT_CODES].sort(), answered.sort());
});

test("the example of every problem is the answer to a real call, except for order, time and digest", () => {
	const general = (text = "") =>
		text
			.replace(/[0-9a-f]{64}/g, "DIGEST")
			.replace(/\(\d{10}\)/g, "(TIME)")
			.replace(/order ID [\w-]+/g, "order ID ID");
	for (const code of SIGNED_FAULT_CODES) {
		const { detail, field } = exampleFault(code, "Service");
		const answered = (watch.details.get(code) ?? []).map((said) => [general(said.detail), said.field]);
		ok(
			answered.some(([text, name]) => text === general(detail) && name === field),
			`${code} is answered: ${answered.map(([text]) => text).join("\n")}`,
		);
	}
});

/** Returns the outcome words or codes of an answer, or one empty text if it has none. */
function wordsOf(
	content: NonNullable<(typeof document.paths)[string]["get"]>["responses"][string]["content"],
) {
	const schemas = Object.values(content ?? {}).map(({ schema }) => schema);
	return schemas.flatMap((schema) => {
		const codes = schema?.allOf?.[1]?.properties?.["code"]?.enum;
		return (codes ?? schema?.properties?.["outcome"]?.enum ?? [""]).map(String);
	});
}

async function callWithRevokedKey(shop: TestShop, method: string, target: string) {
	const { key, keyId } = expectValue(await issueKey(shop.deps, shop.programme.public_id, COMMAND_LINE));
	expectValue(await revokeKey(shop.deps, shop.programme.public_id, keyId, COMMAND_LINE));
	return shop.call(method, target, { headers: { authorization: `Bearer ${key}` } });
}

function requestStream(shop: TestShop, query: string): Promise<Response> {
	const nowMs = shop.deps.clock.nowMs();
	return Promise.resolve(
		shop.request(signedRequest("GET", `/v1/events${query}`, shop.credentials, { nowMs })),
	);
}

async function openStream(shop: TestShop, query: string): Promise<void> {
	const response = await requestStream(shop, query);
	equal(response.status, 200);
	await response.body?.cancel();
}
