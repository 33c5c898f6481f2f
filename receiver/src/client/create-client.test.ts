import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { type Client, createClient, type RecordResult } from "./create-client.ts";
import {
	apiKey,
	type FailingService,
	type PlannedAnswer,
	recorded,
	sampleConversion,
	sampleRefund,
	secret,
	startFailingService,
} from "./failing-service.test-support.ts";
import type { ClientOptions } from "./options.ts";

const sale = { orderId: "A-1001", basketValue: "129.90" };
/** Options with very short pauses, because these tests are not about time. */
const hasty = { firstDelayMs: 1, maxDelayMs: 2 };

function clientOf(service: Pick<FailingService, "url">, options: Partial<ClientOptions> = {}): Client {
	return createClient({ url: service.url, apiKey, secret, retry: hasty, ...options });
}

function decided(outcome: string): PlannedAnswer {
	return { status: 200, body: { outcome, conversion: sampleConversion } };
}

test("each method makes its call and returns outcome, conversion and number of tries", async (t) => {
	const service = await startFailingService(
		t,
		recorded,
		decided("APPROVED"),
		decided("REJECTED"),
		decided("REVERSED"),
		{
			status: 200,
			body: { outcome: "REFUNDED", conversion: sampleConversion, refund: { ...sampleRefund, later: 1 } },
		},
		{
			status: 200,
			body: {
				outcome: "DUPLICATE",
				conversion: sampleConversion,
				credit: "CLICK",
				differs: ["test", { toString: 1 }],
			},
		},
		{ status: 200, body: { conversion: sampleConversion, refunds: [sampleRefund], later: "field" } },
		{ status: 200, body: { conversions: [sampleConversion], nextCursor: "cnv_2" } },
	);
	const client = clientOf(service);
	const occurredAt = new Date(Date.UTC(2026, 0, 1));
	const done = { ok: true, attempts: 1, conversion: sampleConversion };
	const repeated = { ...done, outcome: "DUPLICATE", credit: "CLICK", differs: ["test"] };
	assert.deepEqual(await client.record({ ...sale, occurredAt }), { ...done, outcome: "RECORDED" });
	assert.deepEqual(await client.approve({ orderId: "A-1001" }), { ...done, outcome: "APPROVED" });
	const reason = "FRAUD";
	assert.deepEqual(await client.reject({ orderId: "A-1001", reason }), { ...done, outcome: "REJECTED" });
	const reversal = { orderId: "A-1001", eventType: "LEAD", reason: "A_LATER_WORD" };
	assert.deepEqual(await client.reverse(reversal), { ...done, outcome: "REVERSED" });
	const refund = { orderId: "A-1001", refundId: "R-1", amount: "30.00", reason: "RETURN" };
	assert.deepEqual(await client.refund(refund), {
		...done,
		outcome: "REFUNDED",
		refund: sampleRefund,
	});
	assert.deepEqual(await client.record({ ...sale, clickId: "AQ" }), repeated);
	assert.deepEqual(await client.conversion("cnv_01HX3Y7R2K"), { ...done, refunds: [sampleRefund] });
	const query = { orderId: "Bücher 1/2&x=y", limit: 7, status: undefined, cursor: "cnv_9" };
	const page = { ok: true, attempts: 1, conversions: [sampleConversion], nextCursor: "cnv_2" };
	assert.deepEqual(await client.conversions(query), page);
	assert.deepEqual(
		service.requests.map(({ method, path, body }) => [method, path, body]),
		[
			[
				"POST",
				"/v1/conversions",
				'{"orderId":"A-1001","basketValue":"129.90","occurredAt":"2026-01-01T00:00:00.000Z"}',
			],
			["POST", "/v1/approvals", '{"orderId":"A-1001"}'],
			["POST", "/v1/rejections", '{"orderId":"A-1001","reason":"FRAUD"}'],
			["POST", "/v1/reversals", '{"orderId":"A-1001","eventType":"LEAD","reason":"A_LATER_WORD"}'],
			["POST", "/v1/refunds", '{"orderId":"A-1001","refundId":"R-1","amount":"30.00","reason":"RETURN"}'],
			["POST", "/v1/conversions", '{"orderId":"A-1001","basketValue":"129.90","clickId":"AQ"}'],
			["GET", "/v1/conversions/cnv_01HX3Y7R2K", ""],
			["GET", "/v1/conversions?orderId=B%C3%BCcher+1%2F2%26x%3Dy&limit=7&cursor=cnv_9", ""],
		],
	);
});

for (const failure of ["cut", "cut_in_body", "garbage"] as const) {
	test(`a connection that ends in "${failure}" is retried with a new signature`, async (t) => {
		const service = await startFailingService(t, failure, failure, recorded);
		const result = await clientOf(service).record(sale);
		assert.deepEqual([result.ok, result.attempts], [true, 3]);
		// The test server checks every signature and refuses a nonce that was used before.
		assert.equal(service.requests.length, 3);
		assert.equal(new Set(service.requests.map(({ body }) => body)).size, 1);
	});
}

for (const status of [408, 429, 500, 502, 503, 504]) {
	test(`a ${status} is retried`, async (t) => {
		const service = await startFailingService(t, { status, body: "<html>" }, recorded);
		const result = await clientOf(service).record(sale);
		assert.deepEqual([result.ok, result.attempts, service.requests.length], [true, 2, 2]);
	});
}

for (const status of [400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 425]) {
	test(`a ${status} is reported at once and never retried`, async (t) => {
		const body = { code: "some_code", detail: "Do this next.", field: "orderId", status };
		const service = await startFailingService(t, { status, body });
		const refused = { ok: false, kind: "refused", retryable: false, code: "some_code", status, attempts: 1 };
		const said = { detail: "Do this next.", field: "orderId" };
		assert.deepEqual(await clientOf(service).record(sale), { ...refused, ...said });
		assert.equal(service.requests.length, 1);
	});
}

for (const [code, status] of [
	["missing_api_key", 401],
	["unknown_api_key", 401],
	["revoked_api_key", 401],
	["key_may_not_decide", 403],
	["missing_signature_header", 401],
	["malformed_timestamp", 401],
	["stale_timestamp", 401],
	["no_signing_secret", 401],
	["bad_signature", 401],
] as const) {
	test(`${code} is reported as a wrong setting and not as a wrong sale, so a queue keeps the sale`, async (t) => {
		const service = await startFailingService(t, { status, body: { code, detail: "Do this next." } });
		const result = await clientOf(service).record(sale);
		assert.ok(!result.ok);
		assert.deepEqual(
			[result.kind, result.retryable, result.code, result.attempts],
			["misconfigured", true, code, 1],
		);
		assert.match(result.detail, /^Do this next\./);
	});
}

test("a duplicate after a lost answer is reported as such, with the number of tries", async (t) => {
	const service = await startFailingService(t, "cut", decided("DUPLICATE"));
	const result = await clientOf(service).record(sale);
	assert.deepEqual([result.ok, result.ok && result.outcome, result.attempts], [true, "DUPLICATE", 2]);
});

test("a service that keeps failing is unavailable after four tries, in its own words", async (t) => {
	const body = { code: "unavailable", detail: "The database cannot be used just now." };
	const service = await startFailingService(t, { status: 503, body });
	assert.deepEqual(await clientOf(service).record(sale), {
		ok: false,
		kind: "unavailable",
		retryable: true,
		status: 503,
		detail: "POST /v1/conversions was answered with 503. The database cannot be used just now.",
		attempts: 4,
	});
	assert.equal(service.requests.length, 4);
});

test("an address where nobody listens is unreachable after four tries, and the code is named", async () => {
	// No service uses this port.
	const result = await clientOf({ url: "http://127.0.0.1:2" }).conversion("cnv_1");
	assert.deepEqual(result, {
		ok: false,
		kind: "unreachable",
		retryable: true,
		detail: "GET /v1/conversions/cnv_1: the connection failed (ECONNREFUSED).",
		attempts: 4,
	});
});

for (const failure of ["hang", "hang_in_body"] as const) {
	test(`an answer that ends in "${failure}" is given up at the deadline and retried`, async (t) => {
		const service = await startFailingService(t, failure);
		const retry = { ...hasty, maxAttempts: 2 };
		const result = await clientOf(service, { timeoutMs: 100, retry }).record(sale);
		assert.deepEqual(result, {
			ok: false,
			kind: "unreachable",
			retryable: true,
			detail: "POST /v1/conversions: no answer within 100 ms.",
			attempts: 2,
		});
		// The client must close the connection. Otherwise every timeout would leave an open connection on the
		// shop's server.
		await Promise.all(service.requests.map(({ over }) => over));
	});
}

test("the total time also limits a single try", async (t) => {
	const service = await startFailingService(t, "hang");
	const retry = { totalMs: 100, firstDelayMs: 1_000 };
	const result = await clientOf(service, { timeoutMs: 60_000, retry }).record(sale);
	assert.deepEqual([!result.ok && result.kind, result.attempts], ["unreachable", 1]);
	const [, givenMs] = /no answer within (\d+) ms/.exec(result.ok ? "" : result.detail) ?? [];
	assert.ok(Number(givenMs) <= 100);
});

test("a Retry-After is respected", async (t) => {
	const busy = { status: 429, headers: { "retry-after": "1" } };
	const service = await startFailingService(t, busy, recorded);
	const result = await clientOf(service).record(sale);
	assert.deepEqual([result.ok, result.attempts], [true, 2]);
	const [first, second] = service.requests;
	assert.ok((second?.arrivedAtMs ?? 0) - (first?.arrivedAtMs ?? 0) >= 1_000);
});

test("a Retry-After beyond the total time ends the call at once and is reported", async (t) => {
	const service = await startFailingService(t, { status: 503, headers: { "retry-after": "3600" } });
	assert.deepEqual(await clientOf(service).record(sale), {
		ok: false,
		kind: "unavailable",
		retryable: true,
		status: 503,
		detail: "POST /v1/conversions was answered with 503.",
		retryAfterMs: 3_600_000,
		attempts: 1,
	});
	assert.equal(service.requests.length, 1);
});

for (const status of [301, 302, 303, 307, 308]) {
	test(`a ${status} is reported and not followed`, async (t) => {
		const elsewhere = await startFailingService(t, recorded);
		const location = `${elsewhere.url}/v1/conversions`;
		const service = await startFailingService(t, { status, headers: { location } });
		const result = await clientOf(service).record(sale);
		assert.deepEqual(
			!result.ok && result.kind === "misconfigured" && [result.code, result.status, result.attempts],
			["redirected", status, 1],
		);
		assert.ok(!result.ok && result.detail.includes(location));
		assert.equal(elsewhere.requests.length, 0);
	});
}

test("a redirect that a runtime hides is reported all the same", async () => {
	const opaque = Object.defineProperty(Response.error(), "type", { value: "opaqueredirect" });
	const client = clientOf({ url: "http://127.0.0.1:2" }, { fetch: async () => opaque });
	const result = await client.record(sale);
	assert.equal(!result.ok && result.kind === "misconfigured" && result.code, "redirected");
});

const withoutBasket = { ...sampleConversion, basketValue: 129.9 };
const notThisApi: ReadonlyArray<readonly [what: string, answer: PlannedAnswer, detail: RegExp]> = [
	["a page of HTML", { status: 200, body: "<html>Welcome</html>" }, /it is not JSON/],
	["an empty 204", { status: 204 }, /it is not JSON/],
	["JSON that is no object", { status: 200, body: "[1]" }, /not a JSON object/],
	["an outcome of another call", decided("REVERSED"), /outcome is not RECORDED, CONFIRMED, DUPLICATE/],
	["no conversion", { status: 200, body: { outcome: "RECORDED" } }, /conversion is not an object/],
	[
		"an amount that is a number",
		{ status: 201, body: { outcome: "RECORDED", conversion: withoutBasket } },
		/wrong type: basketValue/,
	],
	["an endless body", "endless", /larger than any answer/],
	["a body of two megabytes", { status: 200, body: " ".repeat(2_000_000) }, /larger than any answer/],
	["a 403 of a proxy", { status: 403, body: "<html>Forbidden</html>" }, /no problem document/],
	["a 404 with other JSON", { status: 404, body: { error: "nope" } }, /no problem document/],
	["a code that is none", { status: 404, body: { code: "No!", detail: "x" } }, /no problem document/],
];

for (const [what, answer, detail] of notThisApi) {
	test(`${what} is reported as unexpected and not retried`, async (t) => {
		const service = await startFailingService(t, answer);
		const result = await clientOf(service).record(sale);
		assert.deepEqual([!result.ok && result.kind, result.attempts], ["unexpected", 1]);
		assert.match(result.ok ? "" : result.detail, detail);
		assert.equal(service.requests.length, 1);
		await service.requests[0]?.over;
	});
}

test("an answer without the refund, or with an incomplete one, is reported as unexpected", async (t) => {
	const { amount: _, ...incomplete } = sampleRefund;
	const done = { outcome: "REFUNDED", conversion: sampleConversion };
	const service = await startFailingService(
		t,
		{ status: 200, body: done },
		{ status: 200, body: { ...done, refund: incomplete } },
		{ status: 200, body: { conversion: sampleConversion, refunds: [incomplete] } },
		{ status: 200, body: { conversion: sampleConversion } },
	);
	const client = clientOf(service);
	const refund = { orderId: "A-1001", refundId: "R-1", amount: "30.00", reason: "RETURN" };
	for (const [result, detail] of [
		[await client.refund(refund), /it has no refund\./],
		[await client.refund(refund), /wrong type in the refund: amount\./],
		[await client.conversion(sampleConversion.id), /wrong type in the refund: amount\./],
		[await client.conversion(sampleConversion.id), /refunds is not a list\./],
	] as const) {
		assert.equal(!result.ok && result.kind, "unexpected");
		assert.match(result.ok ? "" : result.detail, detail);
	}
});

for (const body of [
	{ conversions: {}, nextCursor: null },
	{ conversions: [] },
	{ conversions: [{}], nextCursor: null },
]) {
	test(`the listing ${JSON.stringify(body)} is reported as unexpected`, async (t) => {
		const service = await startFailingService(t, { status: 200, body });
		const result = await clientOf(service).conversions();
		assert.equal(!result.ok && result.kind, "unexpected");
	});
}

test("all conversions are walked page by page, with the largest pages", async (t) => {
	const one = (id: string) => ({ ...sampleConversion, id });
	const service = await startFailingService(
		t,
		{ status: 200, body: { conversions: [one("cnv_4"), one("cnv_3")], nextCursor: "cnv_3" } },
		"cut",
		{ status: 200, body: { conversions: [one("cnv_2")], nextCursor: "cnv_2" } },
		{ status: 200, body: { conversions: [], nextCursor: null } },
	);
	const ids = [];
	for await (const listed of clientOf(service).allConversions({ status: "RECORDED" })) {
		ids.push(listed.ok && listed.conversion.id);
	}
	assert.deepEqual(ids, ["cnv_4", "cnv_3", "cnv_2"]);
	assert.deepEqual(
		service.requests.map(({ path }) => path.replace("/v1/conversions?limit=200&status=RECORDED", "")),
		["", "&cursor=cnv_3", "&cursor=cnv_3", "&cursor=cnv_2"],
	);
});

test("a walk that fails returns what it has, then the failure, and ends", async (t) => {
	const conversions = [sampleConversion];
	const refusal = { code: "revoked_api_key", detail: "This API key has been revoked. Issue a new one." };
	const service = await startFailingService(
		t,
		{ status: 200, body: { conversions, nextCursor: "cnv_1" } },
		{ status: 401, body: refusal },
	);
	const kinds = [];
	for await (const listed of clientOf(service).allConversions()) {
		kinds.push(listed.ok ? listed.conversion.id : listed.kind);
	}
	assert.deepEqual(kinds, [sampleConversion.id, "misconfigured"]);
});

test("a walk whose pages lead in a circle ends", async (t) => {
	const page = { status: 200, body: { conversions: [], nextCursor: "cnv_1" } };
	const service = await startFailingService(t, page);
	const kinds = [];
	for await (const listed of clientOf(service).allConversions()) kinds.push(!listed.ok && listed.kind);
	assert.deepEqual([kinds, service.requests.length], [["unexpected"], 2]);
});

test("a walk that is abandoned asks for no more pages", async (t) => {
	const page = { status: 200, body: { conversions: [sampleConversion], nextCursor: "cnv_1" } };
	const service = await startFailingService(t, page);
	for await (const _ of clientOf(service).allConversions()) break;
	assert.equal(service.requests.length, 1);
});

test("a signal that was aborted before sends nothing", async (t) => {
	const service = await startFailingService(t, recorded);
	const result = await clientOf(service).record(sale, { signal: AbortSignal.abort() });
	assert.deepEqual([!result.ok && result.kind, result.attempts], ["aborted", 0]);
	assert.equal(service.requests.length, 0);
});

test("a signal ends a hanging try, and nothing is retried after it", async (t) => {
	const service = await startFailingService(t, "hang");
	const controller = new AbortController();
	const client = clientOf(service, {
		fetch: (input, init) => {
			const answer = fetch(input, init);
			controller.abort();
			return answer;
		},
	});
	const result = await client.record(sale, { signal: controller.signal });
	assert.deepEqual([!result.ok && result.kind, result.attempts], ["aborted", 1]);
	assert.ok(service.requests.length <= 1);
});

test("a signal ends a pause, and nothing is retried after it", async (t) => {
	const service = await startFailingService(t, { status: 503 });
	const controller = new AbortController();
	const client = clientOf(service, {
		// The pause is longer than the test, so the test only ends if the signal ends the pause.
		retry: { firstDelayMs: 600_000, maxDelayMs: 600_000, totalMs: 6_000_000 },
		fetch: async (input, init) => {
			const answer = await fetch(input, init);
			// The signal is aborted after the answer has been read and the pause has begun. The exact time does not
			// matter.
			setTimeout(() => controller.abort(), 50);
			return answer;
		},
	});
	const result = await client.record(sale, { signal: controller.signal });
	assert.deepEqual([!result.ok && result.kind, result.attempts], ["aborted", 1]);
	assert.equal(service.requests.length, 1);
});

test("a call leaves no listener on a long-lived signal", async (t) => {
	const service = await startFailingService(t, "cut", recorded);
	const { signal } = new AbortController();
	let listeners = 0;
	const counted = new Proxy(signal, {
		get(target, name) {
			if (name === "addEventListener") listeners++;
			if (name === "removeEventListener") listeners--;
			const value: unknown = Reflect.get(target, name);
			return typeof value === "function" ? value.bind(target) : value;
		},
	});
	await clientOf(service).record(sale, { signal: counted });
	assert.equal(listeners, 0);
});

// These mistakes are possible in plain JavaScript, where no types prevent them.
const neverSent: ReadonlyArray<readonly [what: string, change: object, code: string, field: string]> = [
	["an amount that is a number", { basketValue: 129.9 }, "amount_not_a_string", "basketValue"],
	["an amount that is a bigint", { basketValue: 129n }, "amount_not_a_string", "basketValue"],
	["an amount that is null", { basketValue: null }, "amount_not_a_string", "basketValue"],
	["an order that is a number", { orderId: 1001 }, "invalid_field", "orderId"],
	["no order", { orderId: undefined }, "invalid_field", "orderId"],
	["what JSON cannot carry", { orderNumber: 1001n }, "invalid_field", "The argument"],
];

for (const [what, change, code, field] of neverSent) {
	test(`${what} is refused before anything is sent`, async (t) => {
		const service = await startFailingService(t, recorded);
		const result = await clientOf(service).record({ ...sale, ...change });
		assert.ok(!result.ok && result.kind === "refused");
		assert.deepEqual([result.code, result.field, result.status, result.attempts], [code, field, null, 0]);
		assert.match(result.detail, /Nothing was sent\.$/);
		assert.equal(service.requests.length, 0);
	});
}

test("the times of a query may be Dates, and a value that is not valid is refused before anything is sent", async (t) => {
	const page = { status: 200, body: { conversions: [], nextCursor: null } };
	const service = await startFailingService(t, page);
	const client = clientOf(service);
	const time = new Date(Date.UTC(2026, 2, 1, 13));
	assert.ok((await client.conversions({ changedFrom: time, recordedBefore: "2026-03-02" })).ok);
	const [request] = service.requests;
	assert.equal(
		request?.path,
		"/v1/conversions?changedFrom=2026-03-01T13%3A00%3A00.000Z&recordedBefore=2026-03-02",
	);
	const asked: (query: object) => ReturnType<Client["conversions"]> = client.conversions;
	for (const [query, detail] of [
		[{ changedFrom: new Date(Number.NaN) }, /^changedFrom must be a valid Date, or a string such as "2026-/],
		[{ recordedFrom: { year: 2026 } }, /^recordedFrom must be a valid Date, or a string/],
		[{ status: ["RECORDED"] }, /^status must be a string or a number\./],
	] as const) {
		const result = await asked(query);
		assert.equal(!result.ok && result.kind === "refused" && result.code, "invalid_field");
		assert.match(result.ok ? "" : result.detail, detail);
	}
	assert.equal(service.requests.length, 1);
});

for (const id of ["", "..", "../approvals", "cnv_1?x=y", "cnv 1", "x".repeat(65)]) {
	test(`the id ${JSON.stringify(id.slice(0, 20))} is refused before anything is sent`, async (t) => {
		const service = await startFailingService(t, recorded);
		const result = await clientOf(service).conversion(id);
		assert.equal(!result.ok && result.kind === "refused" && result.code, "unknown_conversion");
		assert.equal(service.requests.length, 0);
	});
}

const stale = { code: "stale_timestamp", detail: "The timestamp is too old." };
const now = () => Date.UTC(2026, 0, 1, 12);

for (const [date, told] of [
	["Thu, 01 Jan 2026 11:50:00 GMT", /it is about 600 s ahead of the service's\.$/],
	["Thu, 01 Jan 2026 12:10:00 GMT", /it is about 600 s behind the service's\.$/],
] as const) {
	test(`a stale timestamp is reported with the difference of the clocks, the service's being at ${date}`, async (t) => {
		const service = await startFailingService(t, { status: 401, body: stale, headers: { date } });
		const result = await clientOf(service, { now }).record(sale);
		assert.match(result.ok ? "" : result.detail, told);
		assert.deepEqual(service.requests[0]?.headers["x-service-timestamp"], String(now() / 1000));
		assert.equal(service.requests.length, 1);
	});
}

test("a stale timestamp without the service's time is reported with general advice", async (t) => {
	const service = await startFailingService(t, { status: 401, body: stale, withoutDate: true });
	const result = await clientOf(service).record(sale);
	assert.equal(!result.ok && result.detail, "The timestamp is too old. Check the clock of this machine.");
});

test("another brand changes the three header names", async (t) => {
	const service = await startFailingService(t, recorded);
	assert.equal((await clientOf(service, { brand: "Acme" }).record(sale)).ok, true);
	const names = Object.keys(service.requests[0]?.headers ?? {}).filter((name) => name.startsWith("x-"));
	assert.deepEqual(names.sort(), ["x-acme-nonce", "x-acme-signature", "x-acme-timestamp"]);
});

test("neither the client nor an answer that echoes them shows the key or the secret", async (t) => {
	const echo = `Bearer ${apiKey} signed with ${secret}`;
	const code = "bad_signature";
	const service = await startFailingService(
		t,
		{ status: 401, body: { code, detail: echo, field: echo } },
		{ status: 302, headers: { location: `/sign-in?key=${apiKey}&secret=${secret}` } },
		{ status: 503, body: { code, detail: echo } },
		{ status: 200, body: { outcome: echo } },
		{ status: 400, body: echo },
	);
	const client = clientOf(service, { retry: { maxAttempts: 1 } });
	const failing = clientOf(
		{ url: "http://127.0.0.1:2" },
		{
			retry: hasty,
			fetch: () => Promise.reject(Object.assign(new Error(echo), { code: echo, cause: { code: echo } })),
		},
	);
	const shown = [
		inspect(client, { depth: 10, showHidden: true }),
		JSON.stringify(client),
		String(client),
		inspect(await failing.record(sale), { depth: 10 }),
	];
	for (let i = 0; i < 5; i++) shown.push(inspect(await client.record(sale), { depth: 10 }));
	assert.equal(service.requests.length, 5);
	for (const text of shown) {
		assert.equal(text.includes(apiKey), false, text);
		assert.equal(text.includes(secret), false, text);
	}
	assert.match(shown[4] ?? "", /Bearer \[hidden\] signed with \[hidden\]/);
});

test("a foreign sentence is cut before it fills the log", async (t) => {
	const body = { code: "made_up", detail: "x".repeat(100_000) };
	const service = await startFailingService(t, { status: 401, body });
	const result = await clientOf(service).record(sale);
	assert.equal(result.ok || result.detail.length, 501);
});

const badOptions: ReadonlyArray<readonly [what: string, change: object, names: RegExp]> = [
	["no url", { url: undefined }, /^url /],
	["a url without a scheme", { url: "ringback.example" }, /^url /],
	["a url of another scheme", { url: "ftp://ringback.example" }, /^url /],
	["a url with a path", { url: "https://ringback.example/v1" }, /^url /],
	["a url with a query", { url: "https://ringback.example/?a=b" }, /^url /],
	["a url with a password", { url: `https://me:${secret}@ringback.example` }, /^url /],
	["no key", { apiKey: undefined }, /^apiKey /],
	["an empty key", { apiKey: "" }, /^apiKey /],
	["a key with a line feed", { apiKey: `${apiKey}\n` }, /^apiKey /],
	["an empty secret", { secret: "" }, /^secret /],
	["no secret", { secret: undefined }, /^secret /],
	["a line feed after the secret", { secret: `${secret}\n` }, /^secret has white space/],
	["a blank for a secret", { secret: "   " }, /^secret has white space/],
	["a brand longer than the service's", { brand: "A".repeat(32) }, /^brand /],
	["a secret for a key", { apiKey: `rbs_${secret}` }, /^apiKey and secret are swapped/],
	["a key for a secret", { secret: apiKey }, /^apiKey and secret are swapped/],
	["a brand that is no header name", { brand: "Acme Inc" }, /^brand /],
	["a deadline of nothing", { timeoutMs: 0 }, /^timeoutMs /],
	["a deadline that is no number", { timeoutMs: "5s" }, /^timeoutMs /],
	["no tries", { retry: { maxAttempts: 0 } }, /^retry\.maxAttempts /],
	["tries without end", { retry: { maxAttempts: Number.POSITIVE_INFINITY } }, /^retry\.maxAttempts /],
	["a negative pause", { retry: { firstDelayMs: -1 } }, /^retry\.firstDelayMs /],
	["a longest pause that is no number", { retry: { maxDelayMs: Number.NaN } }, /^retry\.maxDelayMs /],
	["a whole time of nothing", { retry: { totalMs: 0 } }, /^retry\.totalMs /],
	["a fetch that is none", { fetch: "fetch" }, /^fetch /],
	["a clock that is none", { now: 5 }, /^now /],
];

for (const [what, change, names] of badOptions) {
	test(`a client with ${what} is not created, and the message quotes no value`, () => {
		assert.throws(
			() => createClient({ url: "https://ringback.example", apiKey, secret, ...change }),
			(error) => {
				assert.ok(error instanceof TypeError);
				assert.match(error.message, names);
				assert.equal(inspect(error).includes(secret) || inspect(error).includes(apiKey), false);
				return true;
			},
		);
	});
}

test("undefined options count as missing", async (t) => {
	const service = await startFailingService(t, { status: 503 }, recorded);
	const retry = { ...hasty, maxAttempts: undefined } as object;
	const client = clientOf(service, { brand: undefined, fetch: undefined, timeoutMs: undefined, retry });
	assert.equal((await client.record(sale)).ok, true);
});

test("every way in which a call can end has its own code", async (t) => {
	const service = await startFailingService(
		t,
		recorded,
		decided("CONFIRMED"),
		decided("DUPLICATE"),
		{ status: 404, body: { code: "unknown_order", detail: "There is no such order." } },
		{ status: 503 },
		{ status: 200, body: "<html>" },
		"cut",
	);
	const client = clientOf(service, { retry: { maxAttempts: 1 } });
	const words = [];
	for (let call = 0; call < 7; call++) words.push(describeResult(await client.record(sale)));
	words.push(describeResult(await client.record(sale, { signal: AbortSignal.abort() })));
	assert.deepEqual(words, [
		"new cnv_01HX3Y7R2K",
		"confirmed cnv_01HX3Y7R2K",
		"known cnv_01HX3Y7R2K",
		"refused unknown_order",
		"unavailable 503",
		"unexpected 200",
		"unreachable",
		"aborted",
	]);
});

/** Compiles only if the union is complete and each variant has the fields that are used here. */
function describeResult(result: RecordResult): string {
	if (result.ok) {
		switch (result.outcome) {
			case "RECORDED":
				return `new ${result.conversion.id}`;
			case "CONFIRMED":
				return `confirmed ${result.conversion.id}`;
			case "DUPLICATE":
				return `known ${result.conversion.id}`;
			default:
				return result.outcome satisfies never;
		}
	}
	switch (result.kind) {
		case "refused":
		case "misconfigured":
			return `${result.kind} ${result.code}`;
		case "unavailable":
		case "unexpected":
			return `${result.kind} ${result.status}`;
		case "unreachable":
		case "aborted":
			return result.kind;
		default:
			return result satisfies never;
	}
}
