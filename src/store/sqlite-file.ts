// Questions to a SQLite file as a file: how much is in it, whether its pages are whole, whether somebody works on it.

import { DatabaseSync } from "node:sqlite";

/** What SQLite keeps beside a file, and takes for a part of it. */
export const LOG_SUFFIXES: readonly string[] = ["-wal", "-shm", "-journal"];

const TIMEOUT_MS = 5_000;
/** Whoever works on the file holds it all the time: waiting does not help. */
const IN_USE_TIMEOUT_MS = 500;
/** The first few say enough. */
const DAMAGES_TOLD = 5;
const SQLITE_BUSY = 5;
/** The upper bits of a result code say more about the same thing. */
const PRIMARY_CODE = 0xff;

/** Of the pages that hold something: what a copy takes. */
export function readUsedBytes(path: string): number {
	using database = new DatabaseSync(path, { timeout: TIMEOUT_MS });
	const read = (pragma: string) => Number(database.prepare(`pragma ${pragma}`).get()?.[pragma] ?? 0);
	return (read("page_count") - read("freelist_count")) * read("page_size");
}

/** In SQLite's own words; empty when every page, row and entry of an index is as it should be. */
export function findDamage(path: string): string[] {
	try {
		using database = new DatabaseSync(path, { timeout: TIMEOUT_MS });
		const rows = database.prepare(`pragma integrity_check(${DAMAGES_TOLD})`).all();
		return rows.map((row) => String(row["integrity_check"])).filter((line) => line !== "ok");
	} catch (error) {
		// So damaged that not even the check can begin, or no database at all.
		if (!isSqliteError(error) || isBusy(error)) throw error;
		return [error.message];
	}
}

export type Closing = "closed" | "in use" | "unreadable";

/**
 * Takes the log into the file, so that the file alone is the whole database. Only somebody who has it for themselves can:
 * every process that has it open holds a lock as long as it does.
 */
export function closeLog(path: string): Closing {
	try {
		using database = new DatabaseSync(path, { timeout: IN_USE_TIMEOUT_MS });
		const { journal_mode: mode } = database.prepare("pragma journal_mode = delete").get() ?? {};
		return mode === "delete" ? "closed" : "in use";
	} catch (error) {
		if (!isSqliteError(error)) throw error;
		return isBusy(error) ? "in use" : "unreadable";
	}
}

type SqliteError = Error & { errcode: number };

function isSqliteError(error: unknown): error is SqliteError {
	return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

function isBusy({ errcode }: SqliteError): boolean {
	return (errcode & PRIMARY_CODE) === SQLITE_BUSY;
}
