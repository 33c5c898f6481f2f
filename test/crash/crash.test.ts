// The short version of `npm run crash`: twelve rounds, every kind in turn.

import { equal, ok } from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { noProgress } from "../support/proof.ts";
import { KINDS } from "./plan.ts";
import { describeTally, runCrashes } from "./proof.ts";

const ROUNDS = 12;
const ROUNDS_OF_A_KIND = ROUNDS / KINDS.length;

test("twelve crashes lose nothing, repeat only what they hit, and leave final states alone", async (t) => {
	const seed = randomInt(2 ** 30);
	t.diagnostic(`npm run crash -- --rounds ${ROUNDS} --seed ${seed}`);
	const tally = await runCrashes({ rounds: ROUNDS, seed, kind: null }, noProgress);
	t.diagnostic(describeTally(seed, tally));

	const count = (name: "hit" | "interrupted" | "retried" | "refused", kinds: readonly string[] = KINDS) =>
		[...tally.byKind].reduce((sum, [kind, counts]) => sum + (kinds.includes(kind) ? counts[name] : 0), 0);
	const provesEnough = (is: boolean, what: string) => ok(is, `${what}: the test proves too little`);
	for (const kind of KINDS) {
		const rounds = (tally.byKind.get(kind)?.rounds ?? 0) + (kind === "disk-full" ? tally.leftOut : 0);
		equal(rounds, ROUNDS_OF_A_KIND, kind);
	}
	// One round of each kind has a crash that cannot miss: see drawSureRound.
	provesEnough(count("hit", ["sqlite-kill"]) > 0, "no kill hit a delivery on SQLite");
	provesEnough(count("hit", ["postgres-kill"]) > 0, "no kill hit a delivery on PostgreSQL");
	provesEnough(count("interrupted") > 0, "nothing was interrupted");
	provesEnough(count("retried") > 0, "nothing was retried");
	provesEnough(count("refused", ["postgres-restart"]) > 0, "no restart was noticed");
	provesEnough(tally.leftOut > 0 || count("refused", ["disk-full"]) > 0, "no full disk was noticed");
});
