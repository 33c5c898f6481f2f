// Creates a real SQLite file for a test, in its own folder. This code is separate from test-database.ts, because most
// tests need only SQLite, and loading PostgreSQL's client takes each process a tenth of a second.

import { deepEqual } from "node:assert/strict";
import { copyFileSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { openSqlite } from "#core/store/sqlite/store.ts";
import type { Store } from "#core/store/store.ts";
import { realClock } from "../../src/outside/clock.ts";
import { raiseReceiverIds } from "./receiver-ids.ts";
import { makeFolder } from "./run-folder.ts";

/** Environment variable in which test/global-setup.ts puts the path of a migrated SQLite file to copy. */
export const MIGRATED_FILE_VARIABLE = "RINGBACK_TEST_MIGRATED_FILE";

export interface TestDatabase {
	kind: "SQLite" | "PostgreSQL";
	/** Path of the SQLite file, or URL of the PostgreSQL database. */
	location: string;
	/** Value for the setting DATABASE_URL. */
	url: string;
	/** Opens a store with its own connections, as another process would have. */
	open(): Store;
	/** Closes the stores and removes the database. Fails if another connection is still open. */
	remove(): Promise<void>;
}

/** Creates a database with the current schema and no rows. */
export async function createMigratedSqlite(): Promise<TestDatabase> {
	const database = createSqliteDatabase();
	const template = process.env[MIGRATED_FILE_VARIABLE];
	if (template === undefined) await migrateStore(openSqlite(database.location, realClock));
	else copyFileSync(template, database.location);
	return database;
}

export async function migrateStore(store: Store): Promise<void> {
	try {
		// The tests' clocks show earlier times than the real clock, so the database never counts as one without a backup.
		await store.migrate(realClock.nowMs());
		await raiseReceiverIds(store);
	} finally {
		await store.close();
	}
}

/** Creates a database without tables. */
export function createSqliteDatabase(): TestDatabase {
	const location = join(makeFolder("sqlite"), "ringback.db");
	return keepDatabase({
		kind: "SQLite",
		location,
		url: `sqlite:${location}`,
		openStore: () => openSqlite(location, realClock),
		drop: async () => removeFile(location),
	});
}

/**
 * Returns a test database, given functions that create and drop it. Every store is closed before the database is
 * dropped.
 */
export function keepDatabase({
	openStore,
	drop,
	...names
}: Pick<TestDatabase, "kind" | "location" | "url"> & {
	openStore(): Store;
	drop(): Promise<void>;
}): TestDatabase {
	const stores: Store[] = [];
	return {
		...names,
		open() {
			const store = openStore();
			stores.push(store);
			return store;
		},
		async remove() {
			for (const store of stores) await store.close();
			await drop();
		},
	};
}

function removeFile(path: string): void {
	// The last connection that closes removes the write-ahead log, so any other file in the folder shows a
	// connection that was not closed.
	const left = readdirSync(dirname(path));
	rmSync(dirname(path), { recursive: true });
	deepEqual(left, left.length === 0 ? [] : [basename(path)], "a connection to the SQLite file is still open");
}
