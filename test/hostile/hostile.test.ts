// The short version of `npm run hostile`: every attack once, all side by side.

import { match } from "node:assert/strict";
import { test } from "node:test";
import { noProgress } from "../support/proof.ts";
import { ATTACKS } from "./attacks.ts";
import { createHostileProof } from "./hostile-proof.ts";

test("shops that misbehave cost their own deliveries at most, and nobody else anything", async () => {
	const proof = createHostileProof(() => undefined);
	const counts = await proof.run({ rounds: 1, seed: 1 }, noProgress);
	match(counts, new RegExp(`^${ATTACKS.length} attacks by ${ATTACKS.length} shops in 1 round, `));
});
