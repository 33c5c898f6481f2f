// What a machine cannot test is said where nobody overlooks it: at the end of the whole run.

import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";

/** A file that every test process can add to; test/global-setup.ts makes it and reads it. */
const FILE_VARIABLE = "RINGBACK_TEST_NOT_RUN_FILE";

/** Build services set it; `.ci/run` does, too. */
function isInCi(): boolean {
	return !["", "0", "false"].includes(process.env["CI"] ?? "");
}

/** `reason` says what is missing and how to get it. Returns it, for the skipped test to show. Throws in CI. */
export function reportNotRun(reason: string): string {
	if (isInCi()) throw new Error(`${reason} In CI every test must run.`);
	noteNotRun(reason);
	return reason;
}

/** For what CI may lack, too. */
export function noteNotRun(reason: string): void {
	const file = process.env[FILE_VARIABLE];
	if (file !== undefined) appendFileSync(file, `${reason}\n`);
}

/** The same for the one test that asks. */
export function skipHere(t: Pick<TestContext, "skip">, reason: string): void {
	noteNotRun(reason);
	t.skip(reason);
}

export function openNotRunFile(): void {
	const file = join(mkdtempSync(join(tmpdir(), "ringback-not-run-")), "reasons");
	appendFileSync(file, "");
	process.env[FILE_VARIABLE] = file;
}

/** The reasons, each once. */
export function closeNotRunFile(): string[] {
	const file = process.env[FILE_VARIABLE];
	if (file === undefined) return [];
	const reasons = readFileSync(file, "utf8").split("\n");
	rmSync(dirname(file), { recursive: true });
	return [...new Set(reasons.filter((reason) => reason !== ""))];
}
