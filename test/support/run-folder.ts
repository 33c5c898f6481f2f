// Creates the folder for the databases of a test run. The folder is in memory if the system has such a folder, because
// the service syncs every commit to the disk, which takes milliseconds. These tests do not simulate a power cut.

import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FOLDER_VARIABLE = "RINGBACK_TEST_FOLDER";
const IN_MEMORY = "/dev/shm";
/**
 * Minimum free space of the folder in memory. A run needs some hundreds of megabytes at a time, including
 * PostgreSQL's data. Containers often have only 64 megabytes in memory.
 */
const LEAST_FREE_BYTES = 2 * 2 ** 30;

/** Creates the folder for all test processes that are started later. Returns a function that removes it. */
export function openRunFolder(): () => void {
	const folder = mkdtempSync(join(findMemoryFolder() ?? tmpdir(), "ringback-run-"));
	process.env[FOLDER_VARIABLE] = folder;
	const remove = (): void => rmSync(folder, { recursive: true, force: true });
	// The folder is also removed if the run is interrupted.
	process.once("exit", remove);
	return remove;
}

/** Creates a new folder. If a test file runs alone, without test/global-setup.ts, the folder is on the disk. */
export function makeFolder(name: string): string {
	return mkdtempSync(join(process.env[FOLDER_VARIABLE] ?? tmpdir(), `ringback-${name}-`));
}

/** Returns the folder in memory, or undefined if there is none or it has too little space. */
export function findMemoryFolder(): string | undefined {
	try {
		const { bavail, bsize } = statfsSync(IN_MEMORY);
		return bavail * bsize >= LEAST_FREE_BYTES ? IN_MEMORY : undefined;
	} catch {
		// Only Linux has such a folder.
		return undefined;
	}
}
