import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { CLASSES, PIXEL_RATES } from "./admission.ts";
import { createRateLimiter, createTokenBuckets, type Rate } from "./rate-limit.ts";

/** Returns how many of the requests that arrive at these times are allowed. */
function countAllowed(rate: Rate, timesMs: readonly number[]): number {
	const buckets = createTokenBuckets(rate, 1);
	return timesMs.filter((nowMs) => buckets.take("one", nowMs)).length;
}

const every = (stepMs: number, count: number): number[] =>
	Array.from({ length: count }, (_, index) => index * stepMs);

const RATE: Rate = { burst: 5, perSecond: 2 };

const CASES: readonly (readonly [title: string, timesMs: readonly number[], allowed: number])[] = [
	["allows the burst if all requests come at once", every(0, 100), 5],
	["allows all requests that come at its rate", every(500, 100), 100],
	["allows the burst and its rate if requests come twice as often for ten seconds", every(250, 40), 5 + 19],
	["fills up by its rate during a pause", [...every(0, 9), ...every(0, 9).map(() => 1_250)], 5 + 2],
	["fills up to its burst and no further", [...every(0, 9), ...every(0, 9).map(() => 1e9)], 10],
	["does not fill up when the clock goes back", [...every(0, 9), ...every(0, 9).map(() => -3_600_000)], 5],
	[
		"fills up again after the clock went back",
		[0, 0, 0, 0, 0, -3_600_000, -3_599_000, -3_599_000, -3_599_000],
		5 + 2,
	],
];

describe("a token bucket", () => {
	test("says whether there is a token without taking it", () => {
		const buckets = createTokenBuckets({ burst: 1, perSecond: 1 });
		assert.deepEqual(
			[buckets.has("one", 0), buckets.has("one", 0), buckets.take("one", 0)],
			[true, true, true],
		);
		assert.deepEqual([buckets.has("one", 999), buckets.has("one", 1_000)], [false, true]);
	});

	for (const [title, timesMs, allowed] of CASES) {
		test(title, () => assert.equal(countAllowed(RATE, timesMs), allowed));
	}

	test("allows at most its burst and its rate in any period, and never fewer than its rate", () => {
		fc.assert(
			fc.property(
				fc.record({ burst: fc.integer({ min: 1, max: 50 }), perSecond: fc.integer({ min: 1, max: 100 }) }),
				fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 200 }),
				(rate, pausesMs) => {
					let nowMs = 1_000_000;
					const buckets = createTokenBuckets(rate, 1);
					const allowedMs: number[] = [];
					for (const pauseMs of pausesMs) {
						nowMs += pauseMs;
						const sinceMs = nowMs - (allowedMs.at(-1) ?? Number.NEGATIVE_INFINITY);
						if (buckets.take("one", nowMs)) allowedMs.push(nowMs);
						else assert.ok((sinceMs / 1_000) * rate.perSecond < 1 + 1e-6, `refused after ${sinceMs} ms`);
					}
					for (const [first, fromMs] of allowedMs.entries()) {
						for (const [offset, toMs] of allowedMs.slice(first).entries()) {
							const most = rate.burst + ((toMs - fromMs) / 1_000) * rate.perSecond;
							assert.ok(offset + 1 <= most + 1e-6, `${offset + 1} in ${toMs - fromMs} ms`);
						}
					}
				},
			),
		);
	});

	test("is removed if it was unused for the longest time, and no other bucket is", () => {
		const buckets = createTokenBuckets({ burst: 1, perSecond: 0.001 }, 3);
		for (const key of ["a", "b", "c"]) assert.ok(buckets.take(key, NOW_MS));
		assert.ok(!buckets.take("a", NOW_MS), "a was just used");
		assert.ok(buckets.take("d", NOW_MS));
		assert.ok(!buckets.take("a", NOW_MS));
		assert.ok(!buckets.take("c", NOW_MS));
		assert.ok(buckets.take("b", NOW_MS), "b was removed for d and starts with a full burst");
	});
});

const NOW_MS = Date.UTC(2026, 2, 1, 12);

function countTaken(calls: number, take: (call: number) => boolean): number {
	return Array.from({ length: calls }, (_, call) => take(call)).filter((isTaken) => isTaken).length;
}

function openPixelRates() {
	const limiter = createRateLimiter(CLASSES.pixelCalls.rates);
	return (addressBlock: string | null, programme: string, nowMs = NOW_MS) =>
		limiter.take({ addressBlock, programme }, nowMs);
}

describe("the rates of the pixel", () => {
	test("an address block that floods reaches its own limit, and others call the same programme as before", () => {
		const take = openPixelRates();
		assert.equal(
			countTaken(100_000, () => take("5.6.7", "prg_1")),
			PIXEL_RATES.addressBlock.burst,
		);
		assert.equal(
			countTaken(1_000, (call) => take(`9.8.${call}`, "prg_1")),
			1_000,
		);
		const aSecondLater = () => take("5.6.7", "prg_1", NOW_MS + 1_000);
		assert.equal(countTaken(100, aSecondLater), PIXEL_RATES.addressBlock.perSecond);
	});

	for (const [title, blockOf, programmeOf, { burst }] of [
		[
			"from many address blocks ends at the programme's limit",
			(call: number) => `5.${call % 50}.1`,
			() => "prg_1",
			PIXEL_RATES.programme,
		],
		[
			"from private addresses ends at their common limit",
			() => null,
			(call: number) => `prg_${call % 7}`,
			PIXEL_RATES.privateAddresses,
		],
		[
			"from many address blocks for many programmes ends at the limit of the process",
			(call: number) => `2a00:${call}:1`,
			(call: number) => `prg_${call}`,
			PIXEL_RATES.process,
		],
	] as const) {
		test(`a flood ${title}`, () => {
			const take = openPixelRates();
			assert.equal(
				countTaken(50_000, (call) => take(blockOf(call), programmeOf(call))),
				burst,
			);
			assert.equal(take("9.8.7", "prg_other"), burst < PIXEL_RATES.process.burst, "other programmes");
		});
	}

	test("a Black Friday peak is accepted: 500 a second for five minutes, from 2,000 blocks, a fifth of it for one shop", () => {
		const take = openPixelRates();
		let refused = 0;
		for (let call = 0; call < 300 * 500; call++) {
			const block = `5.${call % 8}.${call % 250}`;
			const programme = call % 5 === 0 ? "prg_big" : `prg_${call % 97}`;
			if (!take(block, programme, NOW_MS + call * 2)) refused++;
		}
		assert.equal(refused, 0);
	});
});

test("requests without a programme share one limit, and those of a programme do not use it", () => {
	const limiter = createRateLimiter([
		{ per: "programme", burst: 2, perSecond: 0.001 },
		{ per: "unknownProgramme", burst: 3, perSecond: 0.001 },
	]);
	const take = (programme: number | null) => limiter.take({ addressBlock: null, programme }, NOW_MS);
	assert.equal(
		countTaken(10, () => take(1)),
		2,
	);
	assert.equal(
		countTaken(10, () => take(null)),
		3,
	);
	assert.ok(take(2));
});
