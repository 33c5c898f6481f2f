import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeOutcome, type Verdict } from "./verdict.ts";

const STATUS_RANGES: [first: number, last: number, verdict: Verdict][] = [
	[100, 199, "retry"],
	[200, 299, "delivered"],
	[300, 399, "redirect"],
	[400, 407, "refused"],
	[408, 408, "retry"],
	[409, 428, "refused"],
	[429, 429, "retry"],
	[430, 499, "refused"],
	[500, 599, "retry"],
];

for (const [first, last, verdict] of STATUS_RANGES) {
	test(`contract 7: every answer from ${first} to ${last} is "${verdict}"`, () => {
		for (let status = first; status <= last; status++) {
			assert.equal(judgeOutcome({ kind: "answered", status }), verdict, String(status));
		}
	});
}

test("the table above covers every status from 100 to 599", () => {
	let next = 100;
	for (const [first, last] of STATUS_RANGES) {
		assert.equal(first, next);
		next = last + 1;
	}
	assert.equal(next, 600);
});

test("a number that is not an HTTP status is retried, because the shop neither accepted nor refused", () => {
	for (const status of [0, -1, -200, 1, 20, 99, 600, 999, 2_000, Number.NaN, Infinity, -Infinity]) {
		assert.equal(judgeOutcome({ kind: "answered", status }), "retry", String(status));
	}
});

test("contract 7: an attempt without an answer in time is retried", () => {
	assert.equal(judgeOutcome({ kind: "timeout", stage: "exchange" }), "retry");
});

test("contract 7: a network error at any stage is retried, including DNS failures and bad certificates", () => {
	const cases = [
		["look-up", "ENOTFOUND"],
		["look-up", "EAI_AGAIN"],
		["connect", "ECONNREFUSED"],
		["connect", "EHOSTUNREACH"],
		["tls", "CERT_HAS_EXPIRED"],
		["tls", "ERR_TLS_CERT_ALTNAME_INVALID"],
		["exchange", "ECONNRESET"],
		["exchange", "HPE_INVALID_CONSTANT"],
		["exchange", ""],
	] as const;
	for (const [stage, code] of cases) {
		assert.equal(judgeOutcome({ kind: "network-error", stage, code }), "retry", `${stage} ${code}`);
	}
});

test("contract 7: a private or internal address ends the delivery and is not retried", () => {
	const outcome = { kind: "forbidden-address", address: "10.0.0.1", reason: "a private network" } as const;
	assert.equal(judgeOutcome(outcome), "forbidden address");
});
