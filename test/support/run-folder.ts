// Where the tests of a run keep their SQLite files: in memory, where the system has a folder there. The service syncs
// every commit to the disk, which takes milliseconds, and nobody here cuts the power.

import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FOLDER_VARIABLE = "RINGBACK_TEST_FOLDER";
const IN_MEMORY = "/dev/shm";
/** A run has some tens of megabytes at a time. Containers often have 64 there in all. */
const LEAST_FREE_BYTES = 2 ** 30;

/** For all test processes that are started from now on; resolves to what removes it. */
export function openRunFolder(): () => void {
	const folder = mkdtempSync(join(hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir(), "ringback-run-"));
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

function hasRoom(folder: string): boolean {
	try {
		const { bavail, bsize } = statfsSync(folder);
		return bavail * bsize >= LEAST_FREE_BYTES;
	} catch {
		// Another system than Linux.
		return false;
	}
}
