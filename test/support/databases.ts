// One suite, both databases: a real SQLite file and a real PostgreSQL database, made for the suite and
// removed after it. Removing proves that everything opened was closed.

import { deepEqual } from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, before, describe } from "node:test";
import type { Store } from "../../src/store/store.ts";
import { START_MS } from "./clock.ts";
import { DATABASE_KINDS, type DatabaseKind, openStore } from "./open-store.ts";
import { createPostgresAtHand } from "./postgres-at-hand.ts";

export interface TestDatabase {
	kind: DatabaseKind;
	/** A file's path or a URL. */
	location: string;
	/** A store with connections of its own, as another process would have. */
	open(): Store;
	/** Closes the stores and removes the database; fails when anything else is still connected. */
	remove(): Promise<void>;
}

/** What a suite gets; all but the kind is there from the first test on, and `store` is migrated. */
export interface SuiteDatabase {
	readonly kind: DatabaseKind;
	readonly location: string;
	readonly store: Store;
	/**
	 * Somebody else at the same time: another machine's store on PostgreSQL. On SQLite the same store, because
	 * a second one in this process would wait for the first without letting it go on.
	 */
	readonly rival: Store;
}

export function eachDatabase(title: string, define: (database: SuiteDatabase) => void): void {
	for (const kind of DATABASE_KINDS) {
		describe(`${title} (${kind})`, () => {
			let database: TestDatabase | undefined;
			let store: Store | undefined;
			let rival: Store | undefined;
			before(async () => {
				database = await createTestDatabase(kind);
				store = database.open();
				rival = kind === "SQLite" ? store : database.open();
				await store.migrate(START_MS);
			});
			after(() => database?.remove());
			define({
				kind,
				get location() {
					return made(database).location;
				},
				get store() {
					return made(store);
				},
				get rival() {
					return made(rival);
				},
			});
		});
	}
}

/** An empty database. */
export async function createTestDatabase(kind: DatabaseKind): Promise<TestDatabase> {
	const { location, drop } = kind === "SQLite" ? makeSqliteFile() : await makePostgresDatabase();
	const stores: Store[] = [];
	return {
		kind,
		location,
		open() {
			const store = openStore(kind, location);
			stores.push(store);
			return store;
		},
		async remove() {
			for (const store of stores) await store.close();
			await drop();
		},
	};
}

interface MadeDatabase {
	location: string;
	drop(): Promise<void>;
}

function makeSqliteFile(): MadeDatabase {
	const location = join(mkdtempSync(join(tmpdir(), "ringback-sqlite-")), "ringback.db");
	return { location, drop: async () => removeSqliteFile(location) };
}

function removeSqliteFile(path: string): void {
	// The last connection to close takes the write-ahead log with it: a file beside this one is a leak.
	const left = readdirSync(dirname(path));
	rmSync(dirname(path), { recursive: true });
	deepEqual(left, left.length === 0 ? [] : [basename(path)], "a connection to the SQLite file is still open");
}

/** A server of its own only where a test file is run alone, without test/global-setup.ts. */
const postgres = createPostgresAtHand({ settings: { fsync: "off" } });

after(() => postgres.stop());

async function makePostgresDatabase(): Promise<MadeDatabase> {
	const { url, drop } = await postgres.createDatabase();
	return { location: url, drop };
}

function made<Value>(value: Value | undefined): Value {
	if (value === undefined) throw new Error("the database is there from the first test on, not before");
	return value;
}
