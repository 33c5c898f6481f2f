// Creates a real database of either kind for a test, and removes it at the end. Removing it proves that every
// connection was closed. The hooks of a test file are not used, because proofs and child processes use databases, too.

import { POSTGRES_DEFAULTS, type PostgresSetting } from "#core/store/postgres/setting.ts";
import { openPostgres, type PostgresDeps } from "#core/store/postgres/store.ts";
import { openSqlite } from "#core/store/sqlite/store.ts";
import type { Store } from "#core/store/store.ts";
import { realClock } from "../../src/outside/clock.ts";
import { createClock } from "./clock.ts";
import { createLog } from "./log.ts";
import { createPostgresAtHand } from "./postgres.ts";
import { isLong } from "./proof.ts";
import {
	createMigratedSqlite,
	createSqliteDatabase,
	keepDatabase,
	migrateStore,
	type TestDatabase,
} from "./sqlite-database.ts";

/**
 * Environment variable in which test/global-setup.ts puts the name of a migrated database to copy, on the
 * PostgreSQL server of the test run.
 */
export const MIGRATED_NAME_VARIABLE = "RINGBACK_TEST_MIGRATED_NAME";

export const DATABASE_KINDS = ["SQLite", "PostgreSQL"] as const;
export type DatabaseKind = (typeof DATABASE_KINDS)[number];

/** Returns the kinds for a test whose statements have the same text on both: only `kind` in a short run, and both in a long one. */
export function kindsMainly(kind: DatabaseKind): readonly DatabaseKind[] {
	return isLong ? DATABASE_KINDS : [kind];
}

/** Opens a store. `location` is the path of a SQLite file or the URL of a PostgreSQL database. */
export function openStore(kind: DatabaseKind, location: string): Store {
	return kind === "SQLite" ? openSqlite(location, realClock) : openPostgresAt(location);
}

/** Opens a store on PostgreSQL. Settings that a test does not care about have defaults. */
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

/** Creates a database without tables. */
export async function createTestDatabase(kind: DatabaseKind): Promise<TestDatabase> {
	return kind === "SQLite" ? createSqliteDatabase() : createPostgresDatabase();
}

/**
 * Creates a database with the current schema and no rows. If the run has a migrated database, it is copied.
 */
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
 * Server for tests on PostgreSQL. It is started only if a test file runs alone, without test/global-setup.ts,
 * and ends with this process (KEEPER in postgres.ts).
 */
const postgres = createPostgresAtHand({ settings: { fsync: "off" } });
