// Files that are there whole or not at all, also after a power cut: written under another name, on the disk, and only
// then given theirs.

import { randomBytes } from "node:crypto";
import { link, open, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { readErrorCode } from "./error-code.ts";

/** Process numbers come again, in containers at every start. */
const NAME_BYTES = 6;

/** Beside `path`, so that it can be renamed; recognisable, for whoever finds one that a killed process has left. */
export function partialName(path: string): string {
	return `${path}.partial-${randomBytes(NAME_BYTES).toString("hex")}`;
}

/** In place of whatever is there. */
export async function replaceDurably(from: string, to: string): Promise<void> {
	await rename(from, to);
	await syncFolder(dirname(to));
}

/** False when there is something under that name. */
export async function placeDurably(from: string, to: string): Promise<boolean> {
	try {
		await link(from, to);
	} catch (error) {
		if (readErrorCode(error) === "EEXIST") return false;
		throw error;
	}
	await unlink(from);
	await syncFolder(dirname(to));
	return true;
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
