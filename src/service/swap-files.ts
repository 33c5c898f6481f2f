// The last step of a restore: the new files get their names, and what had them is kept aside. It is synchronous, so that
// a signal is heard before or after it and never within. Whoever is killed within it leaves a database under its name,
// the old one or the new one (where there are no hard links: or none, for the moment between two renames).

import { linkSync, renameSync, rmSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { isoTime } from "../domain/time.ts";
import { isWithoutLinks, moveWithoutLinks, syncFolderNow } from "../outside/durable-file.ts";
import { LOG_SUFFIXES } from "../store/sqlite-file.ts";
import { BackupError } from "./backup-error.ts";
import { lstatOf, sayReason } from "./disk.ts";

export interface NewFile {
	/** Whole and on the disk, in the folder of `path`. */
	draft: string;
	path: string;
}

interface KeptFile {
	path: string;
	aside: string;
}

/** The names of what was there before, as it is called now. */
export function swapFiles(database: NewFile, key: NewFile | null, atMs: number): string[] {
	const logs = LOG_SUFFIXES.map((suffix) => `${database.path}${suffix}`);
	const names = [database.path, ...logs, ...(key === null ? [] : [key.path])];
	const kept = nameAsides(database.path, names, atMs).filter(({ path }) => lstatOf(path) !== null);
	const undo: (() => void)[] = [];
	try {
		// SQLite would take what is in them for the newest part of the restored database.
		for (const file of kept.filter(({ path }) => logs.includes(path))) {
			keep(file, undo);
			rmSync(file.path, { force: true });
		}
		// The key first: a service that finds a database without one makes another.
		for (const file of key === null ? [database] : [key, database]) {
			giveName(
				file,
				kept.find(({ path }) => path === file.path),
				undo,
			);
		}
	} catch (error) {
		throw explainUndone(error, kept, undoAll(undo, dirname(database.path)));
	}
	return kept.map(({ aside }) => aside);
}

/** More restores in one second are no restores. */
const MOST_A_SECOND = 100;

/** One time and number for all that belongs together, so that a kept database is found with its own key. */
function nameAsides(databasePath: string, paths: readonly string[], atMs: number): KeptFile[] {
	const at = isoTime(atMs)
		.replace(/\.\d+Z$/, "Z")
		.replaceAll(":", "-");
	for (let number = 1; number <= MOST_A_SECOND; number++) {
		const stamp = `.before-${at}${number === 1 ? "" : `-${number}`}`;
		const named = paths.map((path) => ({ path, aside: nameAside(databasePath, path, stamp) }));
		if (named.every(({ aside }) => lstatOf(aside) === null)) return named;
	}
	throw new BackupError(
		`Nothing was changed: ${MOST_A_SECOND} files are kept aside as ${databasePath}.before-${at} already. Move them elsewhere.`,
	);
}

/** The key is elsewhere when the settings name a link to the database. */
function nameAside(databasePath: string, path: string, stamp: string): string {
	if (!path.startsWith(databasePath)) return `${path}${stamp}`;
	return `${databasePath}${stamp}${path.slice(databasePath.length)}`;
}

function giveName({ draft, path }: NewFile, before: KeptFile | undefined, undo: (() => void)[]): void {
	if (before !== undefined) {
		keep(before, undo);
		// Otherwise a power cut could leave the new file and lose the name of the old one.
		syncFolderNow(dirname(path));
	}
	renameSync(draft, path);
	if (before === undefined) undo.push(() => rmSync(path));
	syncFolderNow(dirname(path));
}

/** Never over an earlier kept file: both ways fail if there is one. */
function keep({ path, aside }: KeptFile, undo: (() => void)[]): void {
	try {
		linkSync(path, aside);
	} catch (error) {
		if (!isWithoutLinks(error)) throw error;
		moveWithoutLinks(path, aside);
	}
	undo.push(() => {
		renameSync(aside, path);
		// Renaming does nothing while both are names of the same file.
		if (lstatOf(aside) !== null) unlinkSync(aside);
	});
}

/** False when something could not be put back. */
function undoAll(undo: readonly (() => void)[], folder: string): boolean {
	let isUndone = true;
	for (const step of undo.toReversed()) {
		try {
			step();
		} catch {
			// The others are put back all the same; the first failure is the one that is told.
			isUndone = false;
		}
	}
	try {
		syncFolderNow(folder);
	} catch {
		// The names are right; whether they survive a power cut, this disk does not say.
	}
	return isUndone;
}

function explainUndone(error: unknown, kept: readonly KeptFile[], isUndone: boolean): BackupError {
	const failed = `The backup was not put in place: ${sayReason(error)}.`;
	const left = kept.filter(({ aside }) => lstatOf(aside) !== null);
	if (isUndone) return new BackupError(`${failed} All is as it was.`, { cause: error });
	if (left.length === 0) {
		return new BackupError(`${failed} Nothing was there before; remove what is there now.`, { cause: error });
	}
	const moves = left.map(({ path, aside }) => `${aside} to ${path}`).join(", and ");
	return new BackupError(
		`${failed} What was there could not be put back, and is kept: before you start the service, rename ${moves}.`,
		{ cause: error },
	);
}
