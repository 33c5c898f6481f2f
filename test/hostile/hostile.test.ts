// The short version of `npm run hostile`: every attack once, all side by side.

import { match } from "node:assert/strict";
import { test } from "node:test";
import { noProgress } from "../support/proof.ts";
import { ATTACKS } from "./attacks.ts";
import { runHostile } from "./proof.ts";

test("shops that misbehave cost their own deliveries at most, and nobody else anything", async () => {
	const counts = await runHostile({ rounds: 1, seed: 1 }, noProgress, () => undefined);
	match(counts, new RegExp(`^${ATTACKS.length} attacks by ${ATTACKS.length} shops in 1 round, `));
});
