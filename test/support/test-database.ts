// A real database of either kind for a test, removed at the end. Removing proves that everything
// opened was closed. No test file's hooks are used here, because proofs and processes that a test starts use it too.

import { POSTGRES_DEFAULTS, type PostgresSetting } from "../../src/store/postgres/setting.ts";
import { openPostgres, type PostgresDeps } from "../../src/store/postgres/store.ts";
import { openSqlite } from "../../src/store/sqlite/store.ts";
import type { Store } from "../../src/store/store.ts";
import { createClock } from "./clock.ts";
import { createLog } from "./log.ts";
import { createPostgresAtHand } from "./postgres.ts";
import {
	createMigratedSqlite,
	createSqliteDatabase,
	keepDatabase,
	migrateStore,
	type TestDatabase,
} from "./sqlite-database.ts";

/** Where test/global-setup.ts puts the name of a database to copy, on the server of the test run. */
export const MIGRATED_NAME_VARIABLE = "RINGBACK_TEST_MIGRATED_NAME";

export const DATABASE_KINDS = ["SQLite", "PostgreSQL"] as const;
export type DatabaseKind = (typeof DATABASE_KINDS)[number];

/** `location` is a file's path or a URL. */
export function openStore(kind: DatabaseKind, location: string): Store {
	return kind === "SQLite" ? openSqlite(location) : openPostgresAt(location);
}

/** With the settings that are not a test's subject left as they are. */
export function openPostgresAt(
	url: string,
	setting: Partial<PostgresSetting> = {},
	deps: Partial<PostgresDeps> = {},
): Store {
	return openPostgres(
		{ kind: "postgres", url, ...POSTGRES_DEFAULTS, ...setting },
		{ clock: createClock(), log: createLog(), name: "ringback-test", ...deps },
	);
}

/** An empty database. */
export async function createTestDatabase(kind: DatabaseKind): Promise<TestDatabase> {
	return kind === "SQLite" ? createSqliteDatabase() : createPostgresDatabase();
}

/** With this program's schema, and nothing in it: a copy, where the run has made one to copy. */
export async function createMigratedDatabase(kind: DatabaseKind): Promise<TestDatabase> {
	if (kind === "SQLite") return createMigratedSqlite();
	const template = process.env[MIGRATED_NAME_VARIABLE];
	const database = await createPostgresDatabase(template);
	if (template === undefined) await migrateEmpty(kind, database.location);
	return database;
}

export async function migrateEmpty(kind: DatabaseKind, location: string): Promise<void> {
	await migrateStore(openStore(kind, location));
}

async function createPostgresDatabase(template?: string): Promise<TestDatabase> {
	const kind = "PostgreSQL";
	const { url, drop } = await postgres.createDatabase(template);
	return keepDatabase({ kind, location: url, url, openStore: () => openStore(kind, url), drop });
}

/**
 * A server of its own only where a test file is run alone, without test/global-setup.ts. It ends with this process
 * (KEEPER in postgres.ts).
 */
const postgres = createPostgresAtHand({ settings: { fsync: "off" } });
