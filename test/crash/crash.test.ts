// The short version of `npm run crash`, with one round of each kind in which the crash always hits something.
// `npm test` only runs a kill on each database.

import { equal, ok } from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { isLong, noProgress } from "../support/proof.ts";
import { KINDS as ALL_KINDS, SURE_SEEDS_APART } from "./plan.ts";
import { describeTally, runCrashes, type Tally } from "./proof.ts";

const KINDS = isLong ? ALL_KINDS : ALL_KINDS.slice(0, 2);
const ROUNDS = KINDS.length;

test("a round of crashes of each kind loses nothing, repeats only callbacks that were hit, and changes no final state", async (t) => {
	const seed = SURE_SEEDS_APART * randomInt(2 ** 24);
	t.diagnostic(`npm run crash -- --rounds ${ROUNDS} --seed ${seed}`);
	const tally = await runCrashes({ rounds: ROUNDS, seed, kind: null }, noProgress);
	t.diagnostic(describeTally(seed, tally));

	const count = (name: keyof Tally, kinds: readonly string[] = KINDS) =>
		[...tally.byKind].reduce((sum, [kind, counts]) => sum + (kinds.includes(kind) ? counts[name] : 0), 0);
	const provesEnough = (holds: boolean, what: string) => ok(holds, `${what}: the test proves too little`);
	for (const kind of KINDS) {
		const leftOut = kind === "disk-full" ? tally.leftOut : 0;
		equal(count("rounds", [kind]) + leftOut, 1, kind);
	}
	provesEnough(count("duplicates", ["sqlite-kill"]) > 0, "no kill hit a delivery on SQLite");
	provesEnough(count("duplicates", ["postgres-kill"]) > 0, "no kill hit a delivery on PostgreSQL");
	if (!isLong) return;
	provesEnough(count("retried") > 0, "nothing was retried");
	provesEnough(count("refused", ["postgres-restart"]) > 0, "no restart was noticed");
	provesEnough(tally.leftOut > 0 || count("refused", ["disk-full"]) > 0, "no full disk was noticed");
	provesEnough(count("movedSlots", ["postgres-rolling"]) > 0, "no slot was passed on in a rolling restart");
	provesEnough(count("takenOver", ["postgres-turnover"]) > 0, "nobody was taken over under load");
});
