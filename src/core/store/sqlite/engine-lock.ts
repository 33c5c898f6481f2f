// Lock of the operating system that shows whether the process of an engine has ended. SQLite's lock on a small file
// beside the database ends with its process, even after `kill -9`. The file lists the engines of the processes that
// have held the lock. A process that gets the lock therefore knows that these engines have ended, and takes their
// slots at once. For all other engines, the end of the lease decides. The system therefore also works if the file
// system supports no locks, if another program copies the file, or if an engine of an earlier version runs at the
// same time.

import { closeSync, openSync, realpathSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

export interface EngineLock {
	/** Takes the lock if it is free. Returns the ids of engines that have ended, or null if this process lacks the lock. */
	findEnded(): readonly number[] | null;
	/** Lists an engine of this process in the file. It must be called before the engine's row is inserted. */
	note(engineId: number): void;
	close(): void;
}

const SUFFIX = "-engine";
/** Maximum number of listed engines. Earlier engines have lost their leases long ago. */
const MAX_LISTED = 16;

/** Returns the lock of a database file. Every name of the file leads to the same lock. */
export function createEngineLock(databasePath: string): EngineLock {
	const path = `${realpathSync(databasePath)}${SUFFIX}`;
	/** The open file while this process holds its lock. */
	let held: DatabaseSync | null = null;
	let ended: readonly number[] = [];
	/**
	 * Number that the file system gave to the file. Engines are listed with it, because the processes of engines in a
	 * copied file may still hold the lock of the original.
	 */
	let file = "";

	function take(): boolean {
		if (held !== null) return true;
		let database: DatabaseSync | undefined;
		try {
			createPrivately(path);
			database = new DatabaseSync(path, { timeout: 0 });
			// In this mode SQLite keeps the lock after the transaction.
			database.exec(`pragma locking_mode = exclusive; begin exclusive;
				create table if not exists engines (number integer primary key, id integer not null, file text not null)`);
			file = String(statSync(path, { bigint: true }).ino);
			ended = database
				.prepare("select id from engines where file = ? order by number desc limit ?")
				.all(file, MAX_LISTED)
				.map(({ id }) => Number(id))
				.reverse();
			database.exec("commit");
			held = database;
			return true;
		} catch {
			// Either another process has the lock, or the file system supports no locks. The lease decides in both cases.
			database?.close();
			return false;
		}
	}

	return {
		findEnded: () => (take() ? ended : null),
		note(engineId) {
			if (!take() || held === null) return;
			try {
				held.prepare("insert into engines (id, file) values (?, ?)").run(engineId, file);
				held
					.prepare("delete from engines where number <= (select max(number) from engines) - ?")
					.run(MAX_LISTED);
			} catch {
				// This line may be reached if the disk is full. The engine is then not listed, so its lease decides when it
				// has ended.
			}
		},
		close() {
			if (held === null) return;
			// The engines of this process have given up their slots, or are not listed in a new file. It therefore does no
			// harm if another process is just opening the file that is removed here.
			try {
				rmSync(path, { force: true });
			} catch {
				// The folder may have become read-only. The file then stays, as it does after a kill.
			}
			held.close();
			held = null;
		},
	};
}

/**
 * Creates the file, because SQLite would make it readable for everybody on the machine. An existing file is not
 * opened, because closing it would release a lock that another store of this process holds.
 */
function createPrivately(path: string): void {
	try {
		closeSync(openSync(path, "ax", 0o600));
	} catch (error) {
		if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
	}
}
