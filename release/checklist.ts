// Checks whether a release may be published. It prints one line for each check, with its state or with what
// to do.

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildRelease, executableName, type ReleaseFile } from "./build.ts";
import { ARCHITECTURES } from "./node-package.ts";
import { findSbomProblems } from "./sbom-problems.ts";
import { type Emulation, findEmulation, tryExecutable } from "./try-executable.ts";
import { findVersionProblems, readVersions } from "./versions.ts";

export interface CheckOptions {
	/** True if `npm test` has been run on exactly this commit. */
	isTested: boolean;
	say: (line: string) => void;
}

export interface Check {
	name: string;
	/** Runs the check. Resolves to the problems and what to do about them, or to an empty list. */
	run(): Promise<readonly string[]>;
}

const run = promisify(execFile);
const LONGEST_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Runs the checks of a release. Resolves to true if all of them pass. */
export async function checkRelease(root: string, { isTested, say }: CheckOptions): Promise<boolean> {
	const folder = mkdtempSync(join(tmpdir(), "ringback-check-"));
	try {
		if (isTested) say("left    npm run test: you said that it was run on just this");
		const emulation = findEmulation(OTHER);
		if (!emulation.isThere) {
			say(`left    the executable for ${OTHER}: nothing here can run it. On Debian: ${emulation.toInstall}`);
		}
		return await runChecks(listChecks(root, folder, isTested, emulation), say);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

/** Runs all checks, even after a failure, so that a person sees every problem at once. */
export async function runChecks(checks: readonly Check[], say: (line: string) => void): Promise<boolean> {
	let isReady = true;
	for (const { name, run: check } of checks) {
		say(`…       ${name}`);
		const startedMs = performance.now();
		const problems = await check().catch((error: unknown) => [
			error instanceof Error ? error.message : String(error),
		]);
		if (problems.length > 0) isReady = false;
		const seconds = Math.round((performance.now() - startedMs) / 1000);
		say(`${problems.length === 0 ? "ok   " : "TO DO"}   ${name} (${seconds} s)`);
		for (const problem of problems) say(`        ${problem}`);
	}
	say(isReady ? "It can be published." : "It cannot be published yet.");
	return isReady;
}

const [OWN, OTHER] = process.arch === "x64" ? (["x64", "arm64"] as const) : (["arm64", "x64"] as const);

function listChecks(root: string, folder: string, isTested: boolean, emulation: Emulation): Check[] {
	const built: ReleaseFile[] = [];
	const build = (name: string) =>
		buildRelease({
			root,
			folder: join(folder, name),
			architectures: ARCHITECTURES,
			withDebianPackages: true,
			progress: () => undefined,
		});
	const npmRun = (script: string) => ({
		name: `npm run ${script}`,
		run: () => runNpm(root, script),
	});
	return [
		{ name: "everything is committed", run: () => findUncommitted(root) },
		{ name: "version and changelog agree", run: async () => findVersionProblems(readVersions(root)) },
		npmRun("check"),
		...(isTested ? [] : [npmRun("test"), npmRun("test:long")]),
		npmRun("test:debian"),
		{
			name: "the build gives the same bytes twice",
			run: async () => {
				built.push(...(await build("first")));
				const second = new Map((await build("second")).map(({ name, sha256 }) => [name, sha256]));
				return built
					.filter(({ name, sha256 }) => second.get(name) !== sha256)
					.map(({ name }) => `${name} differs: find what in it depends on the time, the folder or chance.`);
			},
		},
		{
			name: "the lists of parts (SBOM) are sound",
			run: async () =>
				built
					.filter(({ name }) => name.endsWith(".cdx.json"))
					.flatMap(({ name }) =>
						findSbomProblems(JSON.parse(readFileSync(join(folder, "first", name), "utf8"))).map(
							(problem) => `${name}: ${problem}`,
						),
					),
		},
		{
			name: "the executable of this machine's kind answers",
			run: async () => {
				if (process.platform !== "linux") return ["Run this on Linux: the executable is for it."];
				return tryExecutable(join(folder, "first", executableName(OWN)));
			},
		},
		...(emulation.isThere
			? [
					{
						name: `the executable for ${OTHER} answers under ${emulation.words[0]}`,
						run: () => tryExecutable(join(folder, "first", executableName(OTHER)), emulation.words),
					},
				]
			: []),
	];
}

async function findUncommitted(root: string): Promise<string[]> {
	const { stdout } = await run("git", ["status", "--porcelain"], { cwd: root });
	const files = stdout.split("\n").filter((line) => line !== "");
	return files.length === 0 ? [] : [`Commit or remove: ${files.map((line) => line.slice(3)).join(", ")}`];
}

/** Maximum number of failed tests whose names are printed. */
const MOST_NAMED = 10;

/** Returns the names of the failed tests from the output of `npm test`. */
function findFailed(error: unknown): string[] {
	const output = error instanceof Error && "stdout" in error ? String(error.stdout) : "";
	const [, failed = ""] = output.split("failing tests:");
	return failed
		.split("\n")
		.filter((line) => /^\s*✖/.test(line))
		.slice(0, MOST_NAMED)
		.map((line) => line.trim());
}

async function runNpm(root: string, script: string): Promise<string[]> {
	try {
		await run("npm", ["run", "--silent", script], { cwd: root, maxBuffer: LONGEST_OUTPUT_BYTES });
		return [];
	} catch (error) {
		return [`It fails: run "npm run ${script}" and mend what it says.`, ...findFailed(error)];
	}
}
