import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { dueDelivery } from "../../../test/support/rows.ts";
import { createRandom } from "../../outside/random.ts";
import { readExcerpt } from "../domain/answer-excerpt.ts";
import { signingKey, wireNames } from "../domain/signature.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { Outcome } from "../domain/verdict.ts";
import { createPreparer, type PreparedAttempt, settleAnswer } from "./attempt.ts";
import type { Target } from "./targets.ts";

const NOW_MS = Date.UTC(2026, 0, 15, 12, 0, 0, 999);

const TARGET: Target = {
	kind: "shop",
	form: "json",
	url: "https://shop.example/postback?shop=1",
	pathAndQuery: "/postback?shop=1",
	endpointId: 5,
	secretId: 1,
	key: signingKey("rbs_1"),
};

const DELIVERY = dueDelivery({ id: 9, dueAtMs: NOW_MS });

const TIMINGS = { lookUpMs: 1, connectMs: 2, tlsMs: 3, answerMs: 4 };

// The request itself, and the new signature of each attempt, are tested in test/contract.
function prepare(): PreparedAttempt {
	return createPreparer(createRandom())(wireNames("Service"), DELIVERY, TARGET, NOW_MS);
}

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
	test(`${JSON.stringify(outcome)} is stored unchanged and leaves the delivery ${state}`, () => {
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

test("the stored part of an answer is added to the attempt, and changes nothing else", () => {
	const prepared = prepare();
	const answer = { outcome: { kind: "answered", status: 302 }, timings: TIMINGS } as const;
	const excerpt = {
		location: "/de",
		contentType: null,
		server: null,
		retryAfter: null,
		body: '"',
		isCut: false,
	};
	const without = settleAnswer(DELIVERY, prepared, answer, null, NOW_MS);
	const settlement = settleAnswer(DELIVERY, prepared, answer, excerpt, NOW_MS);
	if (without?.kind !== "finished" || settlement?.kind !== "finished") throw new Error("a redirect is final");
	deepEqual(readExcerpt(settlement.attempt.answer), excerpt);
	deepEqual(settlement, {
		...without,
		attempt: { ...without.attempt, answer: settlement.attempt.answer },
	});
});

for (const [code, stage, kind] of [
	["EMFILE", "connect", "no attempt"],
	["EADDRNOTAVAIL", "connect", "no attempt"],
	["ECONNREFUSED", "connect", "retry"],
	["EMFILE", "exchange", "retry"],
] as const) {
	test(`${code} at ${stage} gives ${kind}, because only errors of this machine say nothing about the shop`, () => {
		const outcome: Outcome = { kind: "network-error", stage, code };
		const settlement = settleAnswer(DELIVERY, prepare(), { outcome, timings: TIMINGS }, null, NOW_MS + 1);
		equal(settlement?.kind ?? "no attempt", kind);
	});
}
