import { deepEqual, equal, notEqual } from "node:assert/strict";
import { test } from "node:test";
import { verifyPostback } from "@ringback/receiver";
import { dueDelivery } from "../../test/support/rows.ts";
import { composeEvent } from "../domain/event.ts";
import { readKeptAnswer } from "../domain/kept-answer.ts";
import { signingKey, wireNames } from "../domain/signature.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { Outcome } from "../domain/verdict.ts";
import { createRandom } from "../outside/random.ts";
import { createPreparer, type PreparedAttempt, settleAnswer } from "./attempt.ts";
import type { Target } from "./targets.ts";

const NOW_MS = Date.UTC(2026, 0, 15, 12, 0, 0, 999);
const SECRET = "rbs_0123456789abcdef";

const TARGET: Target = {
	url: "https://shop.example/postback?shop=1",
	pathAndQuery: "/postback?shop=1",
	endpointId: 5,
	secretId: 1,
	key: signingKey(SECRET),
};

const DELIVERY = dueDelivery({
	id: 9,
	dueAtMs: NOW_MS,
	eventName: "conversion.rejected",
	eventBody: composeEvent("conversion.rejected", {
		conversionId: "cnv_1",
		orderId: 'A-1 "größe"',
		programId: "prg_1",
		status: "REJECTED",
		eventType: "SALE",
		basketValue: "129.90",
		commission: "10.39",
		networkFee: "3.25",
		currency: "EUR",
		reason: "FRAUD",
		test: false,
		occurredAtMs: NOW_MS - 5_000,
	}),
});

const TIMINGS = { lookUpMs: 1, connectMs: 2, tlsMs: 3, answerMs: 4 };

function prepare(brand = "Service"): PreparedAttempt {
	return createPreparer(wireNames(brand), createRandom())(DELIVERY, TARGET, NOW_MS);
}

function headersOf({ request }: PreparedAttempt): Record<string, string> {
	const pairs = request.headers.flatMap((name, index) =>
		index % 2 === 0 ? [[name, request.headers[index + 1] ?? ""]] : [],
	);
	return Object.fromEntries(pairs);
}

test("the request is one that the receiver's library takes, with the event as its body", async () => {
	const prepared = prepare();
	const verified = await verifyPostback({
		path: TARGET.pathAndQuery,
		headers: headersOf(prepared),
		rawBody: prepared.request.body,
		secret: SECRET,
		now: NOW_MS,
	});
	equal(verified.ok, true);
	equal(verified.ok && verified.event.orderId, 'A-1 "größe"');
	equal(verified.ok && verified.event.sentAt, "2026-01-15T12:00:00.999Z");
});

test("the headers are the contract's six in its order; the timestamp is rounded down", () => {
	const prepared = prepare();
	equal(prepared.request.url, TARGET.url);
	deepEqual(headersOf(prepared), {
		"Content-Type": "application/json",
		"User-Agent": "service-postback/1",
		"X-Service-Event": "conversion.rejected",
		"X-Service-Timestamp": String(Date.UTC(2026, 0, 15, 12) / 1000),
		"X-Service-Nonce": prepared.nonce,
		"X-Service-Signature": prepared.signature,
	});
});

test("the brand goes into the header names and the user agent", () => {
	const names = Object.keys(headersOf(prepare("Acme")));
	deepEqual(names.slice(2), ["X-Acme-Event", "X-Acme-Timestamp", "X-Acme-Nonce", "X-Acme-Signature"]);
	equal(headersOf(prepare("Acme"))["User-Agent"], "acme-postback/1");
});

test("the same delivery prepared twice at the same moment has two nonces and two signatures", () => {
	const [first, second] = [prepare(), prepare()];
	equal(first.request.body, second.request.body);
	notEqual(first.nonce, second.nonce);
	notEqual(first.signature, second.signature);
});

const CASES: readonly [Outcome, string, number | null, string | null][] = [
	[{ kind: "answered", status: 204 }, "delivered", 204, null],
	[{ kind: "answered", status: 503 }, "pending", 503, null],
	[{ kind: "answered", status: 404 }, "failed", 404, null],
	[{ kind: "answered", status: 302 }, "failed", 302, null],
	[{ kind: "timeout", stage: "tls" }, "pending", null, "TIMEOUT (tls)"],
	[
		{ kind: "network-error", stage: "tls", code: "CERT_HAS_EXPIRED" },
		"pending",
		null,
		"CERT_HAS_EXPIRED (tls)",
	],
	[
		{ kind: "forbidden-address", address: "10.0.0.1", reason: "10.0.0.1 is in a private network" },
		"failed",
		null,
		null,
	],
];

for (const [outcome, state, httpStatus, detail] of CASES) {
	test(`${JSON.stringify(outcome)} is kept as it was and leaves the delivery ${state}`, () => {
		const prepared = prepare();
		const endedAtMs = NOW_MS + 40;
		const settlement = settleAnswer(DELIVERY, prepared, { outcome, timings: TIMINGS }, null, endedAtMs);
		if (settlement === null || settlement.kind === "cancelled") throw new Error("it was an attempt");
		if (settlement.kind === "retry") equal(settlement.dueAtMs, endedAtMs + MINUTE_MS);
		equal(settlement.kind === "finished" ? settlement.state : "pending", state);
		deepEqual(settlement.attempt, {
			result: outcome.kind,
			httpStatus,
			detail,
			startedAtMs: NOW_MS,
			tookMs: 40,
			...TIMINGS,
			endpointId: 5,
			nonce: prepared.nonce,
			signature: prepared.signature,
			answer: null,
		});
	});
}

test("what is kept of an answer goes with the attempt, and changes nothing else", () => {
	const prepared = prepare();
	const answer = { outcome: { kind: "answered", status: 302 }, timings: TIMINGS } as const;
	const kept = {
		location: "/de",
		contentType: null,
		server: null,
		retryAfter: null,
		body: '"',
		isCut: false,
	};
	const without = settleAnswer(DELIVERY, prepared, answer, null, NOW_MS);
	const settlement = settleAnswer(DELIVERY, prepared, answer, kept, NOW_MS);
	if (without?.kind !== "finished" || settlement?.kind !== "finished") throw new Error("a redirect is final");
	deepEqual(readKeptAnswer(settlement.attempt.answer), kept);
	deepEqual(settlement, {
		...without,
		attempt: { ...without.attempt, answer: settlement.attempt.answer },
	});
});

test("the seventh counted failure is final", () => {
	const outcome: Outcome = { kind: "answered", status: 503 };
	const settle = (counted: number) =>
		settleAnswer({ ...DELIVERY, counted }, prepare(), { outcome, timings: TIMINGS }, null, NOW_MS)?.kind;
	equal(settle(5), "retry");
	equal(settle(6), "finished");
});

for (const [code, stage, kind] of [
	["EMFILE", "connect", "no attempt"],
	["EADDRNOTAVAIL", "connect", "no attempt"],
	["ECONNREFUSED", "connect", "retry"],
	["EMFILE", "exchange", "retry"],
] as const) {
	test(`${code} at ${stage} is settled as ${kind}: only our own shortage says nothing about the shop`, () => {
		const outcome: Outcome = { kind: "network-error", stage, code };
		const settlement = settleAnswer(DELIVERY, prepare(), { outcome, timings: TIMINGS }, null, NOW_MS + 1);
		equal(settlement?.kind ?? "no attempt", kind);
	});
}
