// Where the tests of a run keep their databases: in memory, where the system has a folder there. The service syncs
// every commit to the disk, which takes milliseconds, and nobody here cuts the power.

import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FOLDER_VARIABLE = "RINGBACK_TEST_FOLDER";
const IN_MEMORY = "/dev/shm";
/** A run has some hundreds of megabytes at a time, PostgreSQL's among them. Containers often have 64 there in all. */
const LEAST_FREE_BYTES = 2 * 2 ** 30;

/** For all test processes that are started from now on; resolves to what removes it. */
export function openRunFolder(): () => void {
	const folder = mkdtempSync(join(findMemoryFolder() ?? tmpdir(), "ringback-run-"));
	process.env[FOLDER_VARIABLE] = folder;
	const remove = (): void => rmSync(folder, { recursive: true, force: true });
	// For a run that is broken off.
	process.once("exit", remove);
	return remove;
}

/** A new one; on the disk, where a test file is run alone, without test/global-setup.ts. */
export function makeFolder(name: string): string {
	return mkdtempSync(join(process.env[FOLDER_VARIABLE] ?? tmpdir(), `ringback-${name}-`));
}

/** For what need not outlive the machine; undefined where there is none, or it has no room. */
export function findMemoryFolder(): string | undefined {
	try {
		const { bavail, bsize } = statfsSync(IN_MEMORY);
		return bavail * bsize >= LEAST_FREE_BYTES ? IN_MEMORY : undefined;
	} catch {
		// Another system than Linux.
		return undefined;
	}
}
