import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Budget, createKeptBudgets } from "./budgets.ts";

/** How many of the calls at these moments are let through. */
function countTaken(budget: Budget, momentsMs: readonly number[]): number {
	const budgets = createKeptBudgets(budget, 1);
	return momentsMs.filter((nowMs) => budgets.take("one", nowMs)).length;
}

const every = (stepMs: number, count: number): number[] =>
	Array.from({ length: count }, (_, index) => index * stepMs);

const BUDGET: Budget = { burst: 5, perSecond: 2 };

const CASES: readonly (readonly [what: string, momentsMs: readonly number[], taken: number])[] = [
	["all at once: the burst", every(0, 100), 5],
	["as often as it fills: all of them", every(500, 100), 100],
	["twice as often, for ten seconds: the burst and what fills meanwhile", every(250, 40), 5 + 19],
	[
		"the burst, a pause that fills it half, and again",
		[...every(0, 9), ...every(0, 9).map(() => 1_250)],
		5 + 2,
	],
	[
		"the burst, a long pause, and again: never more than a burst",
		[...every(0, 9), ...every(0, 9).map(() => 1e9)],
		10,
	],
	["a clock that goes back an hour fills nothing", [...every(0, 9), ...every(0, 9).map(() => -3_600_000)], 5],
	["and fills again from there", [0, 0, 0, 0, 0, -3_600_000, -3_599_000, -3_599_000, -3_599_000], 5 + 2],
];

describe("a budget", () => {
	for (const [what, momentsMs, taken] of CASES) {
		test(what, () => assert.equal(countTaken(BUDGET, momentsMs), taken));
	}

	test("lets through at most its burst and its rate in any stretch of time, and never fewer than its rate", () => {
		fc.assert(
			fc.property(
				fc.record({ burst: fc.integer({ min: 1, max: 50 }), perSecond: fc.integer({ min: 1, max: 100 }) }),
				fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 200 }),
				(budget, pausesMs) => {
					let nowMs = 1_000_000;
					const budgets = createKeptBudgets(budget, 1);
					const takenMs: number[] = [];
					for (const pauseMs of pausesMs) {
						nowMs += pauseMs;
						const sinceMs = nowMs - (takenMs.at(-1) ?? Number.NEGATIVE_INFINITY);
						if (budgets.take("one", nowMs)) takenMs.push(nowMs);
						else assert.ok((sinceMs / 1_000) * budget.perSecond < 1 + 1e-6, `refused after ${sinceMs} ms`);
					}
					for (const [first, fromMs] of takenMs.entries()) {
						for (const [offset, toMs] of takenMs.slice(first).entries()) {
							const most = budget.burst + ((toMs - fromMs) / 1_000) * budget.perSecond;
							assert.ok(offset + 1 <= most + 1e-6, `${offset + 1} in ${toMs - fromMs} ms`);
						}
					}
				},
			),
		);
	});
});
