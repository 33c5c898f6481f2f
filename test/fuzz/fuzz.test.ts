// Runs each property with a few hundred new cases. `npm test` draws fewer, and `npm run fuzz` any number.

import { ok, rejects } from "node:assert/strict";
import { randomInt } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { BrokenPromise, isLong, noProgress } from "../support/proof.ts";
import { BATCH_RUNS, fuzzProperty, pureProperty } from "./fuzz-property.ts";
import { PROPERTIES } from "./properties.ts";

const FEW_RUNS = 100;
const seed = Number(process.env["RINGBACK_TEST_FUZZ_SEED"] ?? randomInt(2 ** 31));

for (const [index, property] of PROPERTIES.entries()) {
	test(property.name, async (t) => {
		t.diagnostic(`RINGBACK_TEST_FUZZ_SEED=${seed}`);
		await fuzzProperty(property, index + 1, { seed, runs: isLong ? BATCH_RUNS : FEW_RUNS }, noProgress);
	});
}

describe("the fuzzing itself", () => {
	const broken = pureProperty("numbers stay below a hundred", [], () =>
		fc.property(fc.nat(), (number) => number < 100),
	);

	test("a property that does not hold names the smallest case and the command that replays it", async () => {
		await rejects(fuzzProperty(broken, 7, { seed: 40, runs: 2_000 }, noProgress), (error) => {
			ok(error instanceof BrokenPromise);
			ok(error.message.includes("does not hold of [100]"), error.message);
			const [, at, from, runs] = /--property (\d+) --seed (\d+) --runs (\d+)$/.exec(error.replay) ?? [];
			ok(at === "7" && Number(from) >= 40 && Number(runs) > 0, error.replay);
			return true;
		});
	});

	test("a run that never meets a kind fails and names the kind", async () => {
		const even = pureProperty("numbers are even", ["even", "odd"], (meet) =>
			fc.property(fc.nat(), () => {
				meet("even");
			}),
		);
		const { message, replay } = await findBroken(even, { seed: 40, runs: BATCH_RUNS });
		ok(message.includes("none was odd"), message);
		ok(replay.endsWith(`--property 1 --seed 40 --runs ${BATCH_RUNS}`), replay);
	});

	test("a replay of the batch alone finds the same case", async () => {
		const rare = pureProperty("no number is a multiple of 5,003", [], () =>
			fc.property(fc.integer({ min: 1, max: 2 ** 31 - 1 }), (number) => number % 5_003 !== 0),
		);
		const first = await findBroken(rare, { seed: 1, runs: 1_000_000 });
		const [, from, runs] = /--seed (\d+) --runs (\d+)$/.exec(first.replay) ?? [];
		const second = await findBroken(rare, { seed: Number(from), runs: Number(runs) });
		ok(first.message === second.message, `${first.message}\n${second.message}`);
	});
});

async function findBroken(
	property: Parameters<typeof fuzzProperty>[0],
	run: Parameters<typeof fuzzProperty>[2],
): Promise<BrokenPromise> {
	const error = await fuzzProperty(property, 1, run, noProgress).catch((caught: unknown) => caught);
	if (error instanceof BrokenPromise) return error;
	throw new Error("it held", { cause: error });
}
