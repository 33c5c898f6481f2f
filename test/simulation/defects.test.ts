// Proof that the auditors can see: with a defect in the sources, the simulation fails, and for the right reason. One
// defect for each promise, of which `npm test` has the first few; all of them with RINGBACK_DEFECTS=all, in about ten
// minutes.

import { ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isLong } from "../support/proof.ts";
import type { Defect } from "./defects/defect.ts";
import { DEFECTS } from "./defects.ts";

/** Most are seen within a few. The more rarely what a defect needs comes up, the more seeds it takes. */
const SEEDS = 400;
const FEW = 3;
const isEvery = process.env["RINGBACK_DEFECTS"] === "all";

suite("a planted defect is seen by the auditors", { concurrency: 2 }, () => {
	for (const { name, breaks, seenWith = 1 } of chooseDefects()) {
		test(name, async (t) => {
			const found = await runPlanted(name);
			ok(found !== null, `${SEEDS} runs did not show it`);
			t.diagnostic(`seed ${found.seed}: ${found.seen.slice(0, 200)}`);
			// Seconds of a processor each time, for the seeds before it.
			if (found.seed !== seenWith) t.diagnostic(`SLOW: its seenWith says ${seenWith}; make it ${found.seed}`);
			ok(
				breaks.some((promise) => promise === found.promise),
				`seen as ${found.promise}: ${found.seen}`,
			);
		});
	}
});

/** Of each promise the one that is seen most quickly. */
function chooseDefects(): readonly Defect[] {
	if (isEvery) return DEFECTS;
	const chosen = new Map<string, Defect>();
	for (const defect of DEFECTS.toSorted((a, b) => (a.seenWith ?? 1) - (b.seenWith ?? 1))) {
		const [promise = ""] = defect.breaks;
		if (!chosen.has(promise)) chosen.set(promise, defect);
	}
	return [...chosen.values()].slice(0, isLong ? undefined : FEW);
}

async function runPlanted(
	name: string,
): Promise<{ seed: number; promise: string | null; seen: string } | null> {
	const script = fileURLToPath(new URL("./planted-run.ts", import.meta.url));
	const { stdout } = await promisify(execFile)(process.execPath, [script, name, String(SEEDS)]);
	return JSON.parse(stdout);
}
