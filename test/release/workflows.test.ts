// Tests the workflows in .github/workflows as far as possible without GitHub: their form, what their shell lines need, and
// that the release is published as docs/operations/install.md says.

import { deepEqual, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { parse } from "yaml";
import { z } from "zod";
import packageJson from "../../package.json" with { type: "json" };

const ROOT = new URL("../../", import.meta.url);

const values = z.record(z.string(), z.union([z.string(), z.number()]));
const step = z.strictObject({
	name: z.string().optional(),
	if: z.string().optional(),
	uses: z.string().optional(),
	with: values.optional(),
	env: values.optional(),
	run: z.string().optional(),
	"working-directory": z.string().optional(),
});
const job = z.strictObject({
	needs: z.string().optional(),
	uses: z.string().optional(),
	strategy: z.object({}).loose().optional(),
	"runs-on": z.string().optional(),
	container: z.string().optional(),
	environment: z.string().optional(),
	permissions: values.optional(),
	"timeout-minutes": z.number().optional(),
	env: values.optional(),
	steps: z.array(step).default([]),
});
const workflow = z.strictObject({
	name: z.string(),
	on: z.object({}).loose(),
	permissions: values,
	jobs: z.record(z.string(), job),
});

const WORKFLOWS = new Map(
	globSync(".github/workflows/*.yml", { cwd: ROOT }).map((path) => {
		const text = readFileSync(new URL(path, ROOT), "utf8");
		return [path, { text, ...workflow.parse(parse(text)) }] as const;
	}),
);

for (const [path, { text, jobs, permissions }] of WORKFLOWS) {
	describe(path, () => {
		const steps = Object.values(jobs).flatMap((each) => each.steps);
		const lines = steps.flatMap(({ run }) => run ?? []);

		test("each step is either an action of a fixed version or shell that parses", () => {
			for (const { uses, run } of steps) {
				ok((uses === undefined) !== (run === undefined));
				if (uses !== undefined) match(uses, /^[\w-]+\/[\w-]+@v\d+$/);
				// An expression may only come into the shell by a variable, which the shell does not parse.
				if (run !== undefined) execFileSync("bash", ["-n"], { input: run });
				ok(!(run ?? "").includes("${{ "), `${run}`);
			}
		});

		test("the jobs and npm's scripts that it names exist", () => {
			for (const { needs, uses, steps: own } of Object.values(jobs)) {
				ok(needs === undefined || needs in jobs, `${needs}`);
				ok(uses === undefined || existsSync(new URL(uses, ROOT)), `${uses}`);
				ok(uses !== undefined || own.length > 0);
			}
			const scripts = lines.flatMap((run) =>
				[...run.matchAll(/npm run ([\w:]+)/g)].map(([, name = ""]) => name),
			);
			deepEqual(
				scripts.filter((name) => !(name in packageJson.scripts)),
				[],
			);
		});

		test("it may only read by default, and names no registry", () => {
			deepEqual(permissions, { contents: "read" });
			ok(!/registry\.npmjs|ghcr\.io|docker\.io|quay\.io/.test(text));
		});
	});
}

test("a release is tested and built before anything is published, and only the last job has secrets", () => {
	const jobs = Object.entries(WORKFLOWS.get(".github/workflows/release.yml")?.jobs ?? {});
	deepEqual(
		jobs.map(([name, { needs }]) => [name, needs]),
		[
			["test", undefined],
			["build", "test"],
			["publish", "build"],
		],
	);
	const withSecrets = jobs.filter(([, each]) => /secrets\.|github\.token/.test(JSON.stringify(each)));
	deepEqual(
		withSecrets.map(([name, { environment }]) => [name, environment]),
		[["publish", "release"]],
	);
});

test("a release is signed for the namespace with which people check it", () => {
	const guide = readFileSync(new URL("docs/operations/install.md", ROOT), "utf8");
	const [, namespace = ""] = /ssh-keygen -Y verify .*-n (\S+)/.exec(guide) ?? [];
	const release = WORKFLOWS.get(".github/workflows/release.yml")?.text ?? "";
	ok(release.includes(`ssh-keygen -Y sign -f "$RUNNER_TEMP/key" -n ${namespace} dist/SHA256SUMS`));
});
