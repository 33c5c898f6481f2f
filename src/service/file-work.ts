// Helpers for backup, restore and verify. They turn disk errors into sentences and remove partial files.

import { lstatSync, readdirSync, rmSync, type Stats, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { sayBytes } from "#core/domain/bytes.ts";
import { DAY_MS } from "#core/domain/time.ts";
import { realClock } from "../outside/clock.ts";
import { readDiskSpace } from "../outside/disk-space.ts";
import { PARTIAL_NAME } from "../outside/durable-file.ts";
import { readErrorCode } from "../outside/error-code.ts";

/** A problem that a person has to solve. The message says how to solve it. */
export class BackupError extends Error {}

/** Called with the name of each stage when it begins. */
export type Tell = (stage: string) => void;

export function lstatOf(path: string): Stats | null {
	return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}

export async function refuseFullDisk(folder: string, neededBytes: number, what: string): Promise<void> {
	const disk = await readDiskSpace(folder);
	if (disk === null || disk.freeBytes >= neededBytes) return;
	throw new BackupError(
		`${what} needs ${sayBytes(neededBytes)} in ${folder}, and ${sayBytes(disk.freeBytes)} are free. Make room, or name another folder.`,
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

export async function explainFailure<Value>(folder: string, work: () => Promise<Value>): Promise<Value> {
	try {
		return await work();
	} catch (error) {
		const reason = findReason(error);
		if (reason === undefined) throw error;
		throw new BackupError(`Nothing was written to ${folder}: ${reason}. Nothing is left there.`);
	}
}

/** Returns a sentence about a known error, or the system's message for any other error. */
export function sayReason(error: unknown): string {
	return findReason(error) ?? (error instanceof Error ? error.message : String(error));
}

function findReason(error: unknown): string | undefined {
	const isFull = error instanceof Error && "errcode" in error && error.errcode === SQLITE_FULL;
	return isFull ? REASONS["ENOSPC"] : REASONS[readErrorCode(error)];
}

const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];
/** Suffixes of the files that SQLite creates beside a database, and the empty suffix of the database itself. */
const FILE_SUFFIXES = ["", "-journal", "-wal", "-shm"];

/**
 * Runs `work` and deletes the named files if it fails or the process is asked to stop. In their folders, it also deletes
 * the files that killed runs left behind.
 */
export async function withPartialFiles<Value>(
	tell: Tell,
	work: (partial: (path: string) => string) => Promise<Value>,
): Promise<Value> {
	const paths = new Set<string>();
	const remove = (): void => {
		for (const path of paths) for (const suffix of FILE_SUFFIXES) rmSync(`${path}${suffix}`, { force: true });
	};
	// The handler deletes the files at once, without waiting for the current statement. After that, the signal has its
	// usual effect.
	const onSignal = (signal: NodeJS.Signals): void => {
		remove();
		for (const name of SIGNALS) process.off(name, onSignal);
		process.kill(process.pid, signal);
	};
	for (const name of SIGNALS) process.on(name, onSignal);
	try {
		return await work((path) => {
			paths.add(path);
			removeLeftBehind(dirname(path), tell);
			return path;
		});
	} finally {
		for (const name of SIGNALS) process.off(name, onSignal);
		remove();
	}
}

/**
 * Removes the partial files of killed runs. Only files that nobody has written to for a day are removed, because a
 * running backup of a large database may not write to its file for hours while it checks it.
 */
function removeLeftBehind(folder: string, tell: Tell): void {
	for (const name of readdirSync(folder).filter((each) => PARTIAL_NAME.test(each))) {
		const found = statSync(join(folder, name), { throwIfNoEntry: false });
		if (found === undefined || !found.isFile() || realClock.nowMs() - found.mtimeMs < DAY_MS) continue;
		rmSync(join(folder, name), { force: true });
		tell(`removed ${name}, which a killed run left behind`);
	}
}
