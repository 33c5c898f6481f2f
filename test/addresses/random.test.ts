// Random addresses, in short: `npm run addresses -- --runs N` draws more.

import { equal } from "node:assert/strict";
import { test } from "node:test";
import { noProgress } from "../support/proof.ts";
import { proveRandom } from "./prove-random.ts";

const RUNS = 1_000;
const SEED = 11;

test("no random address of a reserved block passes, and no other is refused, however it is written", async () => {
	const replay = `npm run addresses -- --runs ${RUNS} --rounds 0 --seed ${SEED}`;
	const { addresses } = await proveRandom(RUNS, SEED, noProgress, replay);
	equal(addresses, RUNS);
});
