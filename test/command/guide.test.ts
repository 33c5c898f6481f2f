// `ringback guide`: all of the operations guide, for whoever has nothing but the program.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { GUIDE_PARTS, GUIDE_SAMPLES } from "../../src/operations-guide.ts";
import { openHome } from "../support/command-home.ts";

/** Wide enough for every terminal, but for commands and addresses that must not be broken. */
const TOO_LONG = /^(?! {4}|.*(?:https:\/\/|`)).{101,}$/m;

test("it names its parts, and prints each as text that fits a terminal", async (t) => {
	const { runHere } = openHome(t);
	const { code, stdout } = await runHere(["guide"]);
	equal(code, 0);
	for (const { name, label } of GUIDE_PARTS) {
		match(stdout, new RegExp(`${label}\\s\\(ringback\\sguide\\s+${name}\\)`));
		const part = await runHere(["guide", name]);
		equal(part.code, 0, name);
		match(part.stdout, /^.+\n=+\n/);
		doesNotMatch(part.stdout, TOO_LONG, name);
		doesNotMatch(part.stdout, /\]\(|<!--|\*\*|^\|/m, name);
	}
});

test("an alert, a setting, a metric and a heading are found by their names, in whatever case", async (t) => {
	const { runHere } = openHome(t);
	const said = async (asked: string) => (await runHere(["guide", asked])).stdout;
	const alert = await said("ringbackchorelate");
	match(alert, /^RingbackChoreLate\n-+\n\nMeans: [\s\S]*\nLook at: [\s\S]*\nDo: /);
	doesNotMatch(alert, /RingbackChoreBacklog/, "and not the next one");
	match(
		await said("RINGBACK_DRAIN_SECONDS"),
		/^RINGBACK_DRAIN_SECONDS\n {4}5 with RINGBACK_ENV=production, else 0 · /,
	);
	match(await said("ringback_lanes"), /^ringback_lanes\n {4}gauge · deliver · programmes whose callbacks/);
	match(await said("Going back to a point in time"), /recovery_target_time = '\$TARGET'/);
});

test("what it does not know ends with 2 and the list of parts; it needs no settings that are right", async (t) => {
	const { runHere } = openHome(t);
	const wrong = await runHere(["guide", "unicorns"], { PORT: "many" });
	deepEqual([wrong.code, wrong.stdout], [2, ""]);
	match(wrong.stderr, /^The guide says nothing under "unicorns"\. Its parts:\n\n {2}install +Install$/m);
	const refused = await runHere(["doctor"], { PORT: "many" });
	equal(refused.code, 1);
	equal((await runHere(["guide", "settings"], { PORT: "many" })).code, 0);
});

test("the samples are written whole, and a file that is there is left alone", async (t) => {
	const { runHere, folder } = openHome(t);
	const samples = join(folder, "samples");
	const { code, stdout } = await runHere(["guide", "--samples", samples]);
	equal(code, 0);
	for (const path of GUIDE_SAMPLES) {
		const file = join(samples, path.replace("ops/", ""));
		match(stdout, new RegExp(`^${file}$`, "m"));
		deepEqual(readFileSync(file), readFileSync(new URL(`../../${path}`, import.meta.url)));
	}
	const rules = join(samples, "prometheus/ringback.rules.yml");
	writeFileSync(rules, "mine");
	const again = await runHere(["guide", "--samples", samples]);
	equal(again.code, 1);
	match(again.stderr, /is there already: choose another folder, or remove it\.$/m);
	equal(readFileSync(rules, "utf8"), "mine");
});

test("nothing is written through a link below the folder; the folder itself may be one", async (t) => {
	const { runHere, folder } = openHome(t);
	const [samples, elsewhere, linked] = [
		join(folder, "mine"),
		join(folder, "elsewhere"),
		join(folder, "linked"),
	];
	mkdirSync(samples);
	mkdirSync(elsewhere);
	symlinkSync(elsewhere, join(samples, "prometheus"));
	const refused = await runHere(["guide", "--samples", samples]);
	equal(refused.code, 1);
	match(
		refused.stderr,
		/mine\/prometheus is no folder but a link or a file, and nothing is written through it: choose another folder, or remove it\.$/m,
	);
	deepEqual(readdirSync(elsewhere), []);
	rmSync(join(samples, "prometheus"));
	symlinkSync(join(folder, "nowhere"), join(samples, "prometheus"));
	equal((await runHere(["guide", "--samples", samples])).code, 1, "nor where it leads nowhere yet");
	equal(existsSync(join(folder, "nowhere")), false);

	symlinkSync(elsewhere, linked);
	equal((await runHere(["guide", "--samples", linked])).code, 0);
	ok(existsSync(join(elsewhere, "prometheus/ringback.rules.yml")));
});
