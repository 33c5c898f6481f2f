// One suite, both databases: a real SQLite file and a real PostgreSQL database, made for the suite and
// removed after it. Removing proves that everything opened was closed.

import { deepEqual } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, before, describe } from "node:test";
import type { Store } from "../../src/store/store.ts";
import { START_MS } from "./clock.ts";
import { DATABASE_KINDS, type DatabaseKind, openStore } from "./open-store.ts";
import { POSTGRES_URL_VARIABLE, type PostgresServer, startPostgres } from "./postgres.ts";
import { createDatabase, dropDatabase } from "./postgres-admin.ts";

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
	const location = kind === "SQLite" ? makeSqliteFile() : await makePostgresDatabase();
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
			if (kind === "SQLite") removeSqliteFile(location);
			else await dropDatabase(await postgresUrl(), new URL(location).pathname.slice(1));
		},
	};
}

function makeSqliteFile(): string {
	return join(mkdtempSync(join(tmpdir(), "ringback-sqlite-")), "ringback.db");
}

function removeSqliteFile(path: string): void {
	// The last connection to close takes the write-ahead log with it: a file beside this one is a leak.
	const left = readdirSync(dirname(path));
	rmSync(dirname(path), { recursive: true });
	deepEqual(left, left.length === 0 ? [] : [basename(path)], "a connection to the SQLite file is still open");
}

async function makePostgresDatabase(): Promise<string> {
	return createDatabase(await postgresUrl(), `ringback_${randomBytes(6).toString("hex")}`);
}

/** Only where a test file is run alone, without test/global-setup.ts. */
let ownServer: Promise<PostgresServer> | undefined;

after(async () => (await ownServer)?.stop());

async function postgresUrl(): Promise<string> {
	const shared = process.env[POSTGRES_URL_VARIABLE];
	if (shared !== undefined) return shared;
	ownServer ??= startPostgres({ settings: { fsync: "off" } });
	return (await ownServer).url();
}

function made<Value>(value: Value | undefined): Value {
	if (value === undefined) throw new Error("the database is there from the first test on, not before");
	return value;
}
