// The short version of `npm run hostile`, with every attack once, all in parallel.

import { match } from "node:assert/strict";
import { test } from "node:test";
import { noProgress } from "../support/proof.ts";
import { ATTACKS } from "./attacks.ts";
import { runHostile } from "./proof.ts";

test("a shop that misbehaves affects only its own deliveries", async () => {
	const counts = await runHostile({ rounds: 1, seed: 1 }, noProgress, () => undefined);
	match(counts, new RegExp(`^${ATTACKS.length} attacks by ${ATTACKS.length} shops in 1 round, `));
});
