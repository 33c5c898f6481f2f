// What a disk has room for, and what it says when it does not take something, in words.

import { lstatSync, type Stats } from "node:fs";
import { sayBytes } from "../domain/bytes.ts";
import { readDiskSpace } from "../outside/disk-space.ts";
import { readErrorCode } from "../outside/error-code.ts";
import { BackupError } from "./backup-error.ts";

export function lstatOf(path: string): Stats | null {
	return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}

export async function refuseFullDisk(folder: string, neededBytes: number, what: string): Promise<void> {
	const disk = await readDiskSpace(folder);
	if (disk === null || disk.freeBytes >= neededBytes) return;
	const { freeBytes } = disk;
	throw new BackupError(
		`${what} needs ${sayBytes(neededBytes)} in ${folder}, and ${sayBytes(freeBytes)} are free. Make room, or name another folder.`,
	);
}

const SQLITE_FULL = 13;
const REASONS: Readonly<Record<string, string>> = {
	ENOSPC: "the disk is full",
	EDQUOT: "this account may not use more of the disk",
	EFBIG: "a file may not be so large there",
	EACCES: "this account may not write there",
	EPERM: "this account may not write there",
	EROFS: "the file system is read-only",
};

/** What a disk says, in words. */
export async function explainFailure<Value>(folder: string, work: () => Promise<Value>): Promise<Value> {
	try {
		return await work();
	} catch (error) {
		const reason = findReason(error);
		if (reason === undefined) throw error;
		throw new BackupError(`Nothing was written to ${folder}: ${reason}. Nothing is left there.`);
	}
}

/** In words where there are some; otherwise the system's own. */
export function sayReason(error: unknown): string {
	return findReason(error) ?? (error instanceof Error ? error.message : String(error));
}

function findReason(error: unknown): string | undefined {
	const isFull = error instanceof Error && "errcode" in error && error.errcode === SQLITE_FULL;
	return isFull ? REASONS["ENOSPC"] : REASONS[readErrorCode(error)];
}
