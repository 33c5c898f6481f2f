// The embedded store: a SQLite file in this process. WAL and synchronous=FULL: what was answered
// survives a power cut.

import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Driver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from "kysely";
import { setHotWrites } from "./hot-writes.ts";
import { applyMigrations } from "./migrate.ts";
import type { Schema } from "./schema.ts";
import { SqliteDriver } from "./sqlite-driver.ts";
import { createSqliteQueue } from "./sqlite-queue.ts";
import { createSqliteWrites } from "./sqlite-writes.ts";
import { ChangeListeners, DueListeners, type Store } from "./store.ts";
import type { Dialect } from "./tables/dialect.ts";

/** How long another process (a command beside the service) may hold the file before we give up. */
const BUSY_TIMEOUT_MS = 5_000;

/** Of processes that open a new file at once, each round lets one through. */
const WAL_TRIES = 20;
const SQLITE_BUSY = 5;

const DIALECT: Dialect = {
	selfNumberedId: "integer primary key",
	givenId: "integer primary key",
	clustered: "without rowid",
	rewritten: "",
	churned: "",
	inPartitions: null,
	timestamp: "text",
	boolean: "integer",
	// SQLite text always compares byte by byte.
	bytewiseText: "text",
	transactionNumber: [],
	moveKey: "id integer primary key",
};

/** `path` is a file, or ":memory:". Its folder is made when missing. */
export function openSqlite(path: string): Store {
	if (path !== ":memory:") {
		mkdirSync(dirname(path), { recursive: true });
		// Made before SQLite does, because it would let everybody on the machine read it.
		closeSync(openSync(path, "a", 0o600));
	}
	const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
	turnToWal(database);
	return createSqliteStore(database);
}

/** A store over a database that is open already; it closes with the store. */
export function createSqliteStore(database: DatabaseSync): Store {
	database.exec("pragma synchronous = full; pragma foreign_keys = on");
	const driver = new SqliteDriver(database);
	const db = new Kysely<Schema>({
		dialect: {
			createDriver: (): Driver => driver,
			createQueryCompiler: () => new SqliteQueryCompiler(),
			createAdapter: () => new SqliteAdapter(),
			createIntrospector: (kysely) => new SqliteIntrospector(kysely),
		},
	});
	setHotWrites(db, createSqliteWrites(database));
	const listeners = new DueListeners();
	const changes = new ChangeListeners();
	return {
		kind: "sqlite",
		db,
		// `begin immediate` is the lock: a second process waits, then finds nothing left to do.
		migrate: (nowMs, migrations) =>
			db.transaction().execute((trx) => applyMigrations(trx, DIALECT, nowMs, migrations)),
		transact: (work) => db.transaction().execute(work),
		partitions: null,
		queue: createSqliteQueue(database),
		// One writer at a time: whoever has a number ends before the next is given.
		moveOrder: { transaction: sql`moves.id`, endedBelow: sql`9223372036854775807` },
		// One writer at a time: no row is another's.
		takeFreeRows: sql``,
		keepToIndexes: async () => undefined,
		lookAlongIndexes: (look) => look(db),
		announceDue: (programmeIds) => listeners.tell(programmeIds),
		announceChange: (programmeId) => {
			changes.tell(programmeId);
			listeners.tell([programmeId]);
		},
		onChange: (listener) => changes.add(listener),
		onDue: (listener) => listeners.add(listener),
		close: async () => {
			await db.destroy();
			// Kysely does not destroy a driver that was never used.
			if (database.isOpen) database.close();
		},
	};
}

/** Switching a new file to WAL needs an exclusive lock. SQLite does not wait for it, so we retry. */
function turnToWal(database: DatabaseSync): void {
	for (let tried = 1; ; tried++) {
		try {
			database.exec("pragma journal_mode = wal");
			return;
		} catch (error) {
			const isBusy = error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
			if (!isBusy || tried === WAL_TRIES) throw error;
			// For a transaction SQLite does wait.
			database.exec("begin immediate; commit");
		}
	}
}
