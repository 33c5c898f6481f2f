// A copy of a SQLite file as it is at one moment, while others write to it. `VACUUM INTO` reads one snapshot and comes to
// its end however much is written meanwhile; SQLite's own backup starts over whenever another process writes.

import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

/** Another process may be opening or closing the file just now. */
const BUSY_TIMEOUT_MS = 30_000;

/**
 * In a thread of its own, because it is one statement that takes as long as the file is large, and somebody wants to see
 * how far it is. As text: a program in one file has no other file to start a thread from.
 */
const THREAD = `
const { parentPort, workerData } = process.getBuiltinModule("node:worker_threads");
const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
const database = new DatabaseSync(workerData.from, { timeout: ${BUSY_TIMEOUT_MS} });
try {
	database.prepare("vacuum into ?").run(workerData.to);
	parentPort.postMessage(null);
} catch (error) {
	parentPort.postMessage({ message: error.message, errcode: error.errcode });
} finally {
	database.close();
}`;

/** `to` must be there and empty: it keeps the mode that it has. */
export async function copySqlite(from: string, to: string): Promise<void> {
	// Never made anew: whoever is asked to stop removes it, while this thread may be about to open it.
	const target = `${pathToFileURL(to).href}?mode=rw`;
	const thread = new Worker(THREAD, { eval: true, workerData: { from, to: target } });
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
