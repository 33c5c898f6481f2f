// A SQLite file as a file: how much is in it, whether its pages are whole, whether a process works on it, and a copy of it.

import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { isBusy, isSqliteError } from "./errors.ts";

/** What SQLite keeps beside a file, and takes for a part of it. */
export const LOG_SUFFIXES: readonly string[] = ["-wal", "-shm", "-journal"];

const TIMEOUT_MS = 5_000;
/** Whoever works on the file holds it all the time: waiting does not help. */
const IN_USE_TIMEOUT_MS = 500;
/** The first few say enough. */
const DAMAGES_TOLD = 5;

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

/** Nobody else can read it or write to it until it is closed. Null while another process works on it. */
export function openAlone(path: string): DatabaseSync | null {
	if (closeLog(path) === "in use") return null;
	const database = new DatabaseSync(path, { timeout: IN_USE_TIMEOUT_MS });
	// In this mode the lock stays when the transaction ends.
	database.exec("pragma locking_mode = exclusive; begin exclusive; commit");
	return database;
}

/** Another process may be opening or closing the file just now. */
const COPY_TIMEOUT_MS = 30_000;

/**
 * In a thread of its own, because it is one statement that takes as long as the file is large, and a signal is to be
 * heard meanwhile. As text: a program in one file has no other file to start a thread from.
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
 * As the file is at one moment, while others write to it. `VACUUM INTO` reads one snapshot and comes to its end however
 * much is written meanwhile; SQLite's own backup starts over whenever another process writes. `to` must be there and
 * empty: it keeps the mode that it has.
 */
export async function copySqlite(from: string, to: string): Promise<void> {
	// Never made anew: a process that is asked to stop removes it, while this thread may be about to open it.
	const target = `${pathToFileURL(to).href}?mode=rw`;
	const thread = new Worker(COPYING, { eval: true, workerData: { from, to: target } });
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	thread.once("error", reject);
	thread.once("message", (failure: { message: string; errcode: number } | null) => {
		if (failure === null) resolve();
		else reject(Object.assign(new Error(failure.message), { code: "ERR_SQLITE_ERROR", ...failure }));
	});
	// Only if it has said nothing: a promise is settled once.
	thread.once("exit", () => reject(new Error("the thread that copies the database has ended")));
	return promise;
}
