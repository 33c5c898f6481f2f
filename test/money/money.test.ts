// Plays three months of a network in the service and in a model that knows only the documents, and compares all amounts.

import { fail, ok } from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import "../support/quick-passwords.ts";
import { isLong } from "../support/proof.ts";
import { eachService } from "../support/running-service.ts";
import { playMonths } from "./scenario.ts";

const SEED_VARIABLE = "RINGBACK_TEST_MONEY_SEED";
const given = process.env[SEED_VARIABLE];
const SIZE = isLong ? { sales: 200, moments: 15 } : { sales: 24, moments: 3 };
const seeds = Array.from({ length: isLong && given === undefined ? 3 : 1 }, () =>
	given === undefined ? randomInt(2 ** 31) : Number(given),
);

for (const seed of seeds) {
	eachService("three months of money", (running) => {
		test("answers, pages, files, statements and callbacks have the amounts of the model, to the cent", async (t) => {
			t.diagnostic(`${SEED_VARIABLE}=${seed}`);
			const comparison = await playMonths(running, seed, SIZE);
			const differences = comparison.describe();
			if (differences !== "") fail(`${SEED_VARIABLE}=${seed}: ${differences}`);
			t.diagnostic(`${comparison.count} values compared`);
			ok(comparison.count > SIZE.sales * 50, "a scenario of this size has more to compare");
		});
	});
}
