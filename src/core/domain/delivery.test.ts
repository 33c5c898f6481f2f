import assert from "node:assert/strict";
import { test } from "node:test";
import { concludeAttempt } from "./delivery.ts";
import type { Verdict } from "./verdict.ts";

const ENDED_AT_MS = 1_767_225_600_123;
const ATTEMPTS = [1, 2, 3, 4, 5, 6, 7] as const;

const FINAL: Readonly<Record<Exclude<Verdict, "retry">, "delivered" | "failed">> = {
	delivered: "delivered",
	refused: "failed",
	redirect: "failed",
	"forbidden address": "failed",
};

const isFinal = (verdict: string): verdict is keyof typeof FINAL => verdict in FINAL;

for (const verdict of Object.keys(FINAL).filter(isFinal)) {
	test(`contract 7: "${verdict}" ends the delivery as ${FINAL[verdict]} at any attempt, with nothing due`, () => {
		for (const counted of ATTEMPTS) {
			assert.deepEqual(
				concludeAttempt(verdict, counted, ENDED_AT_MS),
				{ state: FINAL[verdict] },
				`${counted}`,
			);
		}
	});
}

for (const [i, delaySeconds] of [60, 300, 1_800, 7_200, 21_600, 86_400].entries()) {
	test(`contract 8: "retry" at attempt ${i + 1} leaves the delivery pending, due in ${delaySeconds} s`, () => {
		const dueAtMs = ENDED_AT_MS + delaySeconds * 1000;
		assert.deepEqual(concludeAttempt("retry", i + 1, ENDED_AT_MS), { state: "pending", dueAtMs });
	});
}

test('contract 8: "retry" at the seventh attempt fails the delivery, and so does any count beyond', () => {
	for (const counted of [7, 8, 700]) {
		assert.deepEqual(concludeAttempt("retry", counted, ENDED_AT_MS), { state: "failed" }, `${counted}`);
	}
});
