// Lists what this machine could not test at the end of the whole run, where nobody overlooks it.

import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";

/** File that every test process can append to. test/global-setup.ts creates and reads it. */
const FILE_VARIABLE = "RINGBACK_TEST_NOT_RUN_FILE";

/** CI services set this variable, and so does `.ci/run`. */
function isInCi(): boolean {
	return !["", "0", "false"].includes(process.env["CI"] ?? "");
}

/**
 * Records `reason`, which says what is missing and how to get it. Returns it for the skipped test to show. Throws in
 * CI.
 */
export function reportNotRun(reason: string): string {
	if (isInCi()) throw new Error(`${reason} In CI every test must run.`);
	noteNotRun(reason);
	return reason;
}

/** Records `reason` for tools that CI may lack too. */
export function noteNotRun(reason: string): void {
	const file = process.env[FILE_VARIABLE];
	if (file !== undefined) appendFileSync(file, `${reason}\n`);
}

/** Skips a single test, and records `reason` as `noteNotRun` does. */
export function skipHere(t: Pick<TestContext, "skip">, reason: string): void {
	noteNotRun(reason);
	t.skip(reason);
}

export function openNotRunFile(): void {
	const file = join(mkdtempSync(join(tmpdir(), "ringback-not-run-")), "reasons");
	appendFileSync(file, "");
	process.env[FILE_VARIABLE] = file;
}

/** Returns the reasons without repeats. */
export function closeNotRunFile(): string[] {
	const file = process.env[FILE_VARIABLE];
	if (file === undefined) return [];
	const reasons = readFileSync(file, "utf8").split("\n");
	rmSync(dirname(file), { recursive: true });
	return [...new Set(reasons.filter((reason) => reason !== ""))];
}
