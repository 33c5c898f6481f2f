// Writes files so that they exist either completely or not at all, even after a power cut. A file is written
// under a temporary name, synced to the disk and then renamed. Renaming is synchronous, so a signal cannot
// interrupt it.

import { randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, linkSync, openSync, renameSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Number of random bytes in a temporary name. A process id would not be unique, because containers start with
 * the same one every time.
 */
const NAME_BYTES = 6;

/**
 * Returns the temporary name of `path`. It is in the same folder, so that the file can be renamed. The name
 * tells a person who finds a file left by a killed process what it is.
 */
export function partialName(path: string): string {
	return `${path}.partial-${randomBytes(NAME_BYTES).toString("hex")}`;
}

/** Matches temporary names, and the names of the files that SQLite creates beside them. */
export const PARTIAL_NAME = /\.partial-[\da-f]{12}(?:-journal|-wal|-shm)?$/;

export interface Owner {
	uid: number;
	gid: number;
}

/**
 * Returns the owner of the file, or of its folder if there is no file. Returns null unless root asks, because only root
 * can give files to another account.
 */
export function fileOwner(path: string): Owner | null {
	if (process.getuid?.() !== 0) return null;
	const { uid, gid } = statSync(path, { throwIfNoEntry: false }) ?? statSync(dirname(path));
	return { uid, gid };
}

/**
 * Flags that never follow a symbolic link and never overwrite a file. If root writes into a folder of another
 * account, that account could have placed a link there.
 */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Creates a file that only its owner may read, and syncs it to the disk. `write` gets the open handle and not
 * the path, because another file could have taken the name.
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

/** Renames `from` to `to`, replaces an existing file, and syncs the new name to the disk. */
export function replaceDurably(from: string, to: string): void {
	renameSync(from, to);
	syncFolder(dirname(to));
}

/**
 * Gives the file a second name. On file systems without hard links, such as FAT and many network shares, the
 * file is renamed.
 */
export function nameAlso(path: string, name: string): void {
	try {
		linkSync(path, name);
	} catch {
		renameSync(path, name);
	}
}

/** Syncs the folder to the disk, because a new file name must survive a power cut, too. */
export function syncFolder(folder: string): void {
	const file = openSync(folder, "r");
	try {
		fsyncSync(file);
	} finally {
		closeSync(file);
	}
}
