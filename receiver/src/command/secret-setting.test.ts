import { deepEqual, equal, match } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runCommand } from "./run-command.ts";
import { readSettings } from "./settings.ts";

const URL_ONLY = { RINGBACK_URL: "https://ringback.example" };

test("key and secret may be in files, as secret stores provide them", (t) => {
	const read = readSettings(
		{
			...URL_ONLY,
			RINGBACK_API_KEY_FILE: writeFile(t, "rbk_key\n"),
			RINGBACK_SIGNING_SECRET_FILE: writeFile(t, "rbs_secret"),
		},
		undefined,
	);
	deepEqual(read, {
		ok: true,
		settings: {
			url: "https://ringback.example",
			apiKey: "rbk_key",
			secret: ["rbs_secret"],
			brand: "Service",
		},
	});
});

test("several secrets have a comma between them, and a line break or nothing between commas is one problem", () => {
	const read = (RINGBACK_SIGNING_SECRET: string) =>
		readSettings({ ...URL_ONLY, RINGBACK_API_KEY: "rbk_key", RINGBACK_SIGNING_SECRET }, undefined);
	const several = read("rbs_new,rbs_old\n");
	deepEqual(several.ok && several.settings.secret, ["rbs_new", "rbs_old"]);
	for (const [text, problem] of [
		["rbs_new,\nrbs_old", /^In RINGBACK_SIGNING_SECRET, a secret has white space around it/],
		["rbs_new\nrbs_old", /^In RINGBACK_SIGNING_SECRET, a secret has a line break in it/],
		["rbs_new,rbk_key", /are swapped/],
		[",,", /^RINGBACK_SIGNING_SECRET has commas and no secret between them\.$/],
	] as const) {
		const refused = read(text);
		const problems = refused.ok ? [] : refused.problems;
		equal(problems.length, 1, problems.join("\n"));
		match(problems[0] ?? "", problem);
		equal(/rbs_new|rbs_old/.test(problems.join()), false);
	}
});

test("a file that is empty, unreadable or given beside the value is one problem that quotes nothing", (t) => {
	const secret = { RINGBACK_SIGNING_SECRET: "rbs_secret" };
	for (const [environment, problem] of [
		[{ RINGBACK_API_KEY_FILE: writeFile(t, "\n") }, /^RINGBACK_API_KEY_FILE names a file that is empty\.$/],
		[{ RINGBACK_API_KEY_FILE: "rbk_key" }, /^RINGBACK_API_KEY_FILE names no file that can be read\. /],
		[
			{ RINGBACK_API_KEY: "rbk_key", RINGBACK_API_KEY_FILE: writeFile(t, "rbk_other") },
			/^RINGBACK_API_KEY_FILE and RINGBACK_API_KEY are both set\. /,
		],
	] as const) {
		const read = readSettings({ ...URL_ONLY, ...secret, ...environment }, undefined);
		const problems = read.ok ? [] : read.problems;
		equal(problems.length, 1, problems.join("\n"));
		match(problems[0] ?? "", problem);
		equal(/rbk_|rbs_/.test(problems.join()), false);
	}
});

test("the content of a file is not in the line about an unexpected error either", async (t) => {
	const said: string[] = [];
	const environment = {
		RINGBACK_API_KEY_FILE: writeFile(t, "rbk_key\n"),
		RINGBACK_SIGNING_SECRET_FILE: writeFile(t, "rbs_secret\n"),
		get RINGBACK_URL(): string {
			throw new TypeError("Bearer rbk_key, rbs_secret");
		},
	};
	const screen = { out: (line: string) => said.push(line), error: (line: string) => said.push(line) };
	equal(await runCommand(["trigger", "conversion.recorded"], { environment, screen, isTerminal: false }), 1);
	deepEqual(said, ["ringback trigger has failed, as it never should: TypeError: Bearer …, …"]);
});

function writeFile(t: TestContext, text: string): string {
	const folder = mkdtempSync(join(tmpdir(), "ringback-secret-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const path = join(folder, "value");
	writeFileSync(path, text);
	return path;
}
