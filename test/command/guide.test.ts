// Tests `ringback guide`, which prints the whole operations guide for people who have only the program.

import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { GUIDE_PARTS, GUIDE_SAMPLES } from "../../src/operations-guide.ts";
import { openHome } from "../support/command-home.ts";

test("ringback guide lists its parts and prints each unchanged", async (t) => {
	const { runHere } = openHome(t);
	const { code, stdout } = await runHere(["guide"]);
	equal(code, 0);
	for (const { name, label, file } of GUIDE_PARTS) {
		match(stdout, new RegExp(`^ {2}${name} +${label}$`, "m"));
		const part = await runHere(["guide", name]);
		equal(part.code, 0, name);
		const written = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
		equal(part.stdout, written.replaceAll(/^<!--.*-->\n/gm, ""), name);
		doesNotMatch(part.stdout, /<!--/, name);
	}
});

test("ringback guide with an unknown part exits with 2 and the list of parts, whatever the settings are", async (t) => {
	const { runHere } = openHome(t);
	const wrong = await runHere(["guide", "unicorns"], { PORT: "many" });
	deepEqual([wrong.code, wrong.stdout], [2, ""]);
	match(wrong.stderr, /^The guide has no part "unicorns"\. Its parts:\n\n {2}install +Install$/m);
	const refused = await runHere(["doctor"], { PORT: "many" });
	equal(refused.code, 1);
	equal((await runHere(["guide", "settings"], { PORT: "many" })).code, 0);
});

test("the samples of the guide are written completely, and only into an empty folder", async (t) => {
	const { runHere, folder } = openHome(t);
	const samples = join(folder, "samples");
	const { code, stdout } = await runHere(["guide", "--samples", samples]);
	equal(code, 0);
	for (const path of GUIDE_SAMPLES) {
		const file = join(samples, path.replace("ops/", ""));
		match(stdout, new RegExp(`^${file}$`, "m"));
		deepEqual(readFileSync(file), readFileSync(new URL(`../../${path}`, import.meta.url)));
	}
	const [mine, elsewhere] = [join(folder, "mine"), join(folder, "elsewhere")];
	for (const each of [mine, elsewhere]) mkdirSync(each);
	symlinkSync(elsewhere, join(mine, "prometheus"));
	writeFileSync(join(samples, "prometheus/ringback.rules.yml"), "mine");
	for (const folder of [samples, mine]) {
		const again = await runHere(["guide", "--samples", folder]);
		deepEqual([again.code, again.stdout], [1, ""]);
		match(again.stderr, /is not empty\. Choose another folder\. Nothing was written\.$/m);
	}
	equal(readFileSync(join(samples, "prometheus/ringback.rules.yml"), "utf8"), "mine");
	deepEqual(readdirSync(elsewhere), [], "nothing is written through a link");
});
