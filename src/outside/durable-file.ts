// Files that are there whole or not at all, also after a power cut: written under another name, on the disk, and only
// then given theirs. Names are given synchronously, so that a signal is heard before or after and never within.

import { randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, linkSync, openSync, renameSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";

/** Process numbers come again, in containers at every start. */
const NAME_BYTES = 6;

/** Beside `path`, so that it can be renamed; a person who finds one that a killed process has left knows what it is. */
export function partialName(path: string): string {
	return `${path}.partial-${randomBytes(NAME_BYTES).toString("hex")}`;
}

export interface Owner {
	uid: number;
	gid: number;
}

/** Also when the system's root writes into a folder of another account, which may put a link where the file is to be. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * A new file that its owner alone may read, on the disk when it resolves. It is given away by its handle: behind its name
 * there may be another file by then.
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

/** In place of whatever is there. */
export function replaceDurably(from: string, to: string): void {
	renameSync(from, to);
	syncFolder(dirname(to));
}

/** A second name for the file; its only one where a file has no two, as on FAT and many network shares. */
export function nameAlso(path: string, name: string): void {
	try {
		linkSync(path, name);
	} catch {
		renameSync(path, name);
	}
}

/** A new name, too, must survive a power cut. */
export function syncFolder(folder: string): void {
	const file = openSync(folder, "r");
	try {
		fsyncSync(file);
	} finally {
		closeSync(file);
	}
}
