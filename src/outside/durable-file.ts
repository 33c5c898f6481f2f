// Writes files that exist either completely or not at all, even after a power cut. They are written under a
// temporary name, synced to the disk and then renamed. Renaming is synchronous, so a signal is handled before
// or after it but never in between.

import { randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, linkSync, openSync, renameSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Number of random bytes in a temporary name. Process ids are not unique enough, because containers start
 * with the same one every time.
 */
const NAME_BYTES = 6;

/**
 * Returns the temporary name for `path`, in the same folder so that it can be renamed. A person who finds a
 * file left by a killed process can tell what it is.
 */
export function partialName(path: string): string {
	return `${path}.partial-${randomBytes(NAME_BYTES).toString("hex")}`;
}

export interface Owner {
	uid: number;
	gid: number;
}

/**
 * Flags that never follow a link and never overwrite. Root may be writing into a folder of another account,
 * which could place a link there.
 */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Creates a file that only its owner may read. It is on the disk when the promise resolves. The caller gets
 * the open handle, because another file could have taken the name by then.
 */
export async function writeNewFile<Value>(
	path: string,
	owner: Owner | null,
	write: (handle: FileHandle) => Promise<Value>,
): Promise<Value> {
	const handle = await open(path, NEW_FILE, 0o600);
	try {
		const value = await write(handle);
		if (owner !== null) await handle.chown(owner.uid, owner.gid);
		await handle.sync();
		return value;
	} finally {
		await handle.close();
	}
}

/** Replaces the file at `to`, if there is one. */
export function replaceDurably(from: string, to: string): void {
	renameSync(from, to);
	syncFolder(dirname(to));
}

/**
 * Gives the file a second name. On file systems without hard links, such as FAT and many network shares, it
 * is renamed.
 */
export function nameAlso(path: string, name: string): void {
	try {
		linkSync(path, name);
	} catch {
		renameSync(path, name);
	}
}

/** Syncs the folder, because a new name must survive a power cut too. */
export function syncFolder(folder: string): void {
	const file = openSync(folder, "r");
	try {
		fsyncSync(file);
	} finally {
		closeSync(file);
	}
}
