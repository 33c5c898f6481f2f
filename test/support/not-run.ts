// Collects what this machine could not test. The list is printed at the end of the whole run, where nobody
// overlooks it.

import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";

/**
 * Environment variable with the path of a file to which every test process can append. test/global-setup.ts
 * creates and reads the file.
 */
const FILE_VARIABLE = "RINGBACK_TEST_NOT_RUN_FILE";

/** Returns whether the tests run in CI, where this variable is set by CI services and by `.ci/run`. */
function isInCi(): boolean {
	return !["", "0", "false"].includes(process.env["CI"] ?? "");
}

/**
 * Records `reason`, which says what is missing and how to get it, and returns `reason` for the skipped test. Throws in
 * CI, because CI must run everything.
 */
export function reportNotRun(reason: string): string {
	if (isInCi()) throw new Error(`${reason} In CI every test must run.`);
	noteNotRun(reason);
	return reason;
}

/** Records `reason` like `reportNotRun`, but never fails, because CI may lack these tools, too. */
export function noteNotRun(reason: string): void {
	const file = process.env[FILE_VARIABLE];
	if (file !== undefined) appendFileSync(file, `${reason}\n`);
}

/** Skips the test and records `reason` with `noteNotRun`. */
export function skipHere(t: Pick<TestContext, "skip">, reason: string): void {
	noteNotRun(reason);
	t.skip(reason);
}

export function openNotRunFile(): void {
	const file = join(mkdtempSync(join(tmpdir(), "ringback-not-run-")), "reasons");
	appendFileSync(file, "");
	process.env[FILE_VARIABLE] = file;
}

/** Returns the recorded reasons without duplicates, and removes the file. */
export function closeNotRunFile(): string[] {
	const file = process.env[FILE_VARIABLE];
	if (file === undefined) return [];
	const reasons = readFileSync(file, "utf8").split("\n");
	rmSync(dirname(file), { recursive: true });
	return [...new Set(reasons.filter((reason) => reason !== ""))];
}
