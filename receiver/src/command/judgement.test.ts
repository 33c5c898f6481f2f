// Tests of the contract's table of answers (section 7), as a developer sees it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeForward } from "./judgement.ts";
import { reconnectPauseMs } from "./listen.ts";

const target = new URL("http://localhost:3000/postback");

for (const [statuses, verdict, advice] of [
	[[200, 204, 299], "delivered", /^$/],
	[[500, 503, 599, 408, 429], "retry", /try again in 1 minute/],
	[[400, 401, 404, 410, 422], "stop", /stop at once and tell the owner/],
	[[301, 302, 307], "stop", /not followed.*stop at once/],
] as const) {
	test(`${statuses.join(", ")}: ${verdict}`, () => {
		for (const status of statuses) {
			const judged = judgeForward({ kind: "answered", status, firstLine: "", tookMs: 12 }, target);
			assert.deepEqual([judged.verdict, judged.answer], [verdict, `${status} in 12 ms`]);
			assert.match(judged.advice, advice);
		}
	});
}

test("no answer and no connection are retried, with a hint at what is missing", () => {
	assert.equal(judgeForward({ kind: "timeout", tookMs: 5_000 }, target).verdict, "retry");
	for (const [code, hint] of [
		["ECONNREFUSED", /Nothing listens on localhost:3000: start your receiver/],
		["ENOTFOUND", /localhost cannot be looked up/],
		["DEPTH_ZERO_SELF_SIGNED_CERT", /NODE_EXTRA_CA_CERTS/],
		["EWHATEVER", /Check --to/],
	] as const) {
		const judged = judgeForward({ kind: "failed", code, tookMs: 1 }, target);
		assert.equal(judged.verdict, "retry");
		assert.match(judged.advice, hint);
	}
});

test("the pause before a reconnect grows to ten seconds, and there is none after a good connection", () => {
	assert.deepEqual([0, 1, 2, 3, 6, 7, 50].map(reconnectPauseMs), [0, 250, 500, 1_000, 8_000, 10_000, 10_000]);
});
