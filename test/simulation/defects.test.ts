// Proves that the auditors notice broken promises. With a planted defect the simulation must fail, and it
// must name the promise that the defect breaks. `npm test` plants a few defects, and `npm run simulate:defects`
// plants all of them.

import { deepEqual, equal, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PROMISES } from "../support/broken.ts";
import { isLong } from "../support/proof.ts";
import { DEFECTS } from "./defects.ts";
import type { PlantedResult } from "./planted-run.ts";

/** Number of seeds to try if the seed that a defect names no longer shows the defect. */
const SEEDS = 100;
/** The defects that `npm test` plants. */
const SAMPLE: readonly string[] = [
	"a decision is stored without its reason",
	"an approval creates no event",
	"a corrected URL cancels the pending deliveries",
	"an approval writes no entry",
];
const isEvery = isLong || process.env["RINGBACK_DEFECTS"] === "all";

test("each promise has a planted defect", () => {
	deepEqual([...new Set(DEFECTS.map(({ promise }) => promise))].sort(), PROMISES.toSorted());
});

suite("the simulation notices a planted defect", { concurrency: 2 }, () => {
	for (const { name, promise, seed } of DEFECTS) {
		if (!isEvery && !SAMPLE.includes(name)) continue;
		test(`if ${name}, it reports "${promise}"`, async (t) => {
			const found = await runPlanted(name);
			ok(found !== null, `${SEEDS} seeds did not show it`);
			t.diagnostic(`seed ${found.seed}: ${found.message.slice(0, 200)}`);
			if (found.seed !== seed)
				t.diagnostic(`SLOW: seed ${seed} does not show it; name ${found.seed} instead`);
			equal(found.promise, promise, found.message);
		});
	}
});

async function runPlanted(name: string): Promise<PlantedResult | null> {
	const script = fileURLToPath(new URL("./planted-run.ts", import.meta.url));
	const { stdout } = await promisify(execFile)(process.execPath, [script, name, String(SEEDS)]);
	return JSON.parse(stdout);
}
