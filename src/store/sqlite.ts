// The embedded store: a SQLite file in this process. WAL and synchronous=FULL: what was answered
// survives a power cut.

import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Driver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import { applyMigrations, type MigrationReport } from "./migrate.ts";
import type { Dialect } from "./migrations.ts";
import type { Schema } from "./schema.ts";
import { SqliteDriver } from "./sqlite-driver.ts";
import { createSqliteQueue } from "./sqlite-queue.ts";
import { DueListeners, type Store } from "./store.ts";

/** How long another process (a command beside the service) may hold the file before we give up. */
const BUSY_TIMEOUT_MS = 5_000;

const DIALECT: Dialect = {
	selfNumberedId: "integer primary key",
	givenId: "integer primary key",
	clustered: "without rowid",
};

export interface SqliteStore extends Store {
	/** Holds everybody else off the file while `work` uses it through a connection of its own. */
	exclusive<Value>(work: () => Promise<Value>): Promise<Value>;
}

export function isSqliteStore(store: Store): store is SqliteStore {
	return "exclusive" in store;
}

/** `path` is a file, or ":memory:". Its folder is made when missing. */
export function openSqlite(path: string): SqliteStore {
	if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true });
	const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
	database.exec("pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on");
	const driver = new SqliteDriver(database);
	const db = new Kysely<Schema>({
		dialect: {
			createDriver: (): Driver => driver,
			createQueryCompiler: () => new SqliteQueryCompiler(),
			createAdapter: () => new SqliteAdapter(),
			createIntrospector: (kysely) => new SqliteIntrospector(kysely),
		},
	});
	const listeners = new DueListeners();
	return {
		db,
		// `begin immediate` is the lock: a second process waits, then finds nothing left to do.
		migrate: (nowMs, migrations) =>
			db.transaction().execute((trx) => applyMigrations(trx, DIALECT, nowMs, migrations)),
		transact: (work) => db.transaction().execute(work),
		exclusive: (work) => driver.exclusive(work),
		queue: createSqliteQueue(database),
		announceDue: (programmeIds) => listeners.tell(programmeIds),
		onDue: (listener) => listeners.add(listener),
		close: async () => {
			await db.destroy();
			// Kysely does not destroy a driver that was never used.
			if (database.isOpen) database.close();
		},
	};
}

export function migrateSqlite(store: Store, nowMs: number): Promise<MigrationReport> {
	return store.migrate(nowMs);
}
