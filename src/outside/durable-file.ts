// Files that are there whole or not at all, also after a power cut: written under another name, on the disk, and only
// then given theirs.

import { randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, openSync, renameSync, unlinkSync } from "node:fs";
import { type FileHandle, link, open, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { readErrorCode } from "./error-code.ts";

/** Process numbers come again, in containers at every start. */
const NAME_BYTES = 6;

/** Beside `path`, so that it can be renamed; recognisable, for whoever finds one that a killed process has left. */
export function partialName(path: string): string {
	return `${path}.partial-${randomBytes(NAME_BYTES).toString("hex")}`;
}

export interface Owner {
	uid: number;
	gid: number;
}

/** Also when the system's root writes into a folder of somebody else, who may put a link where the file is to be. */
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
export async function replaceDurably(from: string, to: string): Promise<void> {
	await rename(from, to);
	await syncFolder(dirname(to));
}

/** False when there is something under that name. */
export async function placeDurably(from: string, to: string): Promise<boolean> {
	try {
		await giveName(from, to);
	} catch (error) {
		if (readErrorCode(error) === "EEXIST") return false;
		throw error;
	}
	await syncFolder(dirname(to));
	return true;
}

async function giveName(from: string, to: string): Promise<void> {
	try {
		await link(from, to);
	} catch (error) {
		if (!isWithoutLinks(error)) throw error;
		moveWithoutLinks(from, to);
		return;
	}
	await unlink(from);
}

/** FAT and many network shares have none; EPERM is what Linux says of them, and of files that one may not link. */
const WITHOUT_LINKS: readonly string[] = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"];

export function isWithoutLinks(error: unknown): boolean {
	return WITHOUT_LINKS.includes(readErrorCode(error));
}

/**
 * Fails with EEXIST when there is something under that name: an empty file takes the name first, because renaming alone
 * would overwrite. Synchronous, so that no signal is heard in between, which would leave that empty file.
 */
export function moveWithoutLinks(from: string, to: string): void {
	closeSync(openSync(to, NEW_FILE, 0o600));
	try {
		renameSync(from, to);
	} catch (error) {
		unlinkSync(to);
		throw error;
	}
}

/** As `syncFolder`, for whoever must not be interrupted. */
export function syncFolderNow(folder: string): void {
	const file = openSync(folder, "r");
	try {
		fsyncSync(file);
	} finally {
		closeSync(file);
	}
}

/** A new name, too, must survive a power cut. */
async function syncFolder(folder: string): Promise<void> {
	const handle = await open(folder, "r");
	try {
		await handle.sync();
	} finally {
		await handle.close();
	}
}
