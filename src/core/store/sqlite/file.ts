// Operations on the file of a SQLite database: reading its size, finding damage, checking whether another process
// uses it, and copying it.

import { closeSync, openSync, readSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { DIALECTS } from "../schema/dialect.ts";
import { restoresTable } from "../schema/restores.ts";
import { isBusy, isSqliteError } from "./errors.ts";

/** Suffixes of the files that SQLite creates beside a database file. */
export const LOG_SUFFIXES: readonly string[] = ["-wal", "-shm", "-journal"];

const TIMEOUT_MS = 5_000;
/**
 * Time to wait for the lock of the file. A process that uses the file holds the lock all the time, so waiting longer
 * does not help.
 */
const IN_USE_TIMEOUT_MS = 500;
const MAX_REPORTED_DAMAGES = 5;

/** Returns the total size of the pages in use, which is also the size of a copy. */
export function readUsedBytes(path: string): number {
	using database = new DatabaseSync(path, { timeout: TIMEOUT_MS });
	const read = (pragma: string) => Number(database.prepare(`pragma ${pragma}`).get()?.[pragma] ?? 0);
	return (read("page_count") - read("freelist_count")) * read("page_size");
}

const HEADER = "SQLite format 3\0";

/**
 * Content of the path of a SQLite database. Missing and empty files are distinguished, because SQLite would create
 * the one and write into the other.
 */
export type FileState = "missing" | "empty" | "database" | "something else";

export function stateOfFile(path: string): FileState {
	const found = statSync(path, { throwIfNoEntry: false });
	if (found === undefined) return "missing";
	if (!found.isFile()) return "something else";
	if (found.size === 0) return "empty";
	const file = openSync(path, "r");
	try {
		const start = Buffer.alloc(HEADER.length);
		readSync(file, start, 0, HEADER.length, 0);
		return start.toString("latin1") === HEADER ? "database" : "something else";
	} finally {
		closeSync(file);
	}
}

/** Returns SQLite's descriptions of the damage, or an empty list if the file is intact. */
export function findDamage(path: string): string[] {
	try {
		using database = new DatabaseSync(path, { timeout: TIMEOUT_MS });
		const rows = database.prepare(`pragma integrity_check(${MAX_REPORTED_DAMAGES})`).all();
		return rows.map((row) => String(row["integrity_check"])).filter((line) => line !== "ok");
	} catch (error) {
		// The file is too damaged for the check, or is not a database.
		if (!isSqliteError(error) || isBusy(error)) throw error;
		return [error.message];
	}
}

export type Closing = "closed" | "in use" | "unreadable";

/**
 * Copies the write-ahead log into the file, so that the file alone is the whole database. This needs an exclusive
 * lock, and fails while another process has the file open, because that process holds a shared lock.
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

/**
 * Records a restore in a file that no process uses. If the backup has an earlier schema, the table is created, which
 * the later migration allows.
 */
export function recordRestoreIn(path: string, times: { asOfMs: number; restoredAtMs: number }): void {
	using database = new DatabaseSync(path, { timeout: TIMEOUT_MS });
	database.exec("pragma synchronous = full");
	for (const statement of restoresTable(DIALECTS.sqlite)) database.exec(statement);
	database
		.prepare("insert into restores (as_of_ms, restored_at_ms) values (?, ?)")
		.run(times.asOfMs, times.restoredAtMs);
}

/** Opens the file so that no other process can use it. Returns null if another process has the file open. */
export function openAlone(path: string): DatabaseSync | null {
	if (closeLog(path) === "in use") return null;
	const database = new DatabaseSync(path, { timeout: IN_USE_TIMEOUT_MS });
	// In this mode SQLite keeps the lock after the transaction.
	database.exec("pragma locking_mode = exclusive; begin exclusive; commit");
	return database;
}

/** Time that a copy waits for a process that is just opening or closing the file. */
const COPY_TIMEOUT_MS = 30_000;

/**
 * Source text of the thread that copies. Copying is one long statement, and the process must react to signals
 * meanwhile. The program is a text, because the executable is a single file, so there is no other file from which a
 * thread could start.
 */
const COPYING = `
const { parentPort, workerData } = process.getBuiltinModule("node:worker_threads");
const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
const database = new DatabaseSync(workerData.from, { timeout: ${COPY_TIMEOUT_MS} });
try {
	database.prepare("vacuum into ?").run(workerData.to);
	parentPort.postMessage(null);
} catch (error) {
	parentPort.postMessage({ message: error.message, errcode: error.errcode });
} finally {
	database.close();
}`;

/**
 * Copies a snapshot of the database while others write to it. `VACUUM INTO` finishes however much is written
 * meanwhile, whereas SQLite's backup interface starts over whenever another process writes. The file `to` must exist
 * and be empty. Its mode does not change.
 */
export async function copySqlite(from: string, to: string): Promise<void> {
	// The thread must not create the file, because a process that is stopping may just have removed it.
	const target = `${pathToFileURL(to).href}?mode=rw`;
	const thread = new Worker(COPYING, { eval: true, workerData: { from, to: target } });
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	thread.once("error", reject);
	thread.once("message", (failure: { message: string; errcode: number } | null) => {
		if (failure === null) resolve();
		else reject(Object.assign(new Error(failure.message), { code: "ERR_SQLITE_ERROR", ...failure }));
	});
	// This has no effect after a message, because a promise is settled only once.
	thread.once("exit", () => reject(new Error("the thread that copies the database has ended")));
	return promise;
}
