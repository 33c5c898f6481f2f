// A real SQLite file for a test, in a folder of its own. Apart from test-database.ts, because most tests need nothing
// else, and loading PostgreSQL's client takes each of their processes a tenth of a second.

import { deepEqual } from "node:assert/strict";
import { copyFileSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { openSqlite } from "../../src/store/sqlite/store.ts";
import type { Store } from "../../src/store/store.ts";
import { START_MS } from "./clock.ts";
import { makeFolder } from "./run-folder.ts";

/** Where test/global-setup.ts puts a file to copy. */
export const MIGRATED_FILE_VARIABLE = "RINGBACK_TEST_MIGRATED_FILE";

export interface TestDatabase {
	kind: "SQLite" | "PostgreSQL";
	/** A file's path or a URL. */
	location: string;
	/** As in DATABASE_URL. */
	url: string;
	/** A store with connections of its own, as another process would have. */
	open(): Store;
	/** Closes the stores and removes the database; fails when anything else is still connected. */
	remove(): Promise<void>;
}

/** With this program's schema, and nothing in it. */
export async function createMigratedSqlite(): Promise<TestDatabase> {
	const database = createSqliteDatabase();
	const made = process.env[MIGRATED_FILE_VARIABLE];
	if (made === undefined) await migrateStore(openSqlite(database.location));
	else copyFileSync(made, database.location);
	return database;
}

export async function migrateStore(store: Store): Promise<void> {
	try {
		await store.migrate(START_MS);
	} finally {
		await store.close();
	}
}

/** Empty. */
export function createSqliteDatabase(): TestDatabase {
	const location = join(makeFolder("sqlite"), "ringback.db");
	return keepDatabase({
		kind: "SQLite",
		location,
		url: `sqlite:${location}`,
		openStore: () => openSqlite(location),
		drop: async () => removeFile(location),
	});
}

/** Over whatever makes and drops it: closes every store that was opened before it goes. */
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
	// The last connection to close takes the write-ahead log with it: a file beside this one is a leak.
	const left = readdirSync(dirname(path));
	rmSync(dirname(path), { recursive: true });
	deepEqual(left, left.length === 0 ? [] : [basename(path)], "a connection to the SQLite file is still open");
}
