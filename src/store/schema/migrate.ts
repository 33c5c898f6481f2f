// Brings a database to this program's schema, each migration in a transaction of its own: one that is broken off leaves
// nothing of itself, and the next start goes on with it.

import { sql } from "kysely";
import { DIALECTS } from "./dialect.ts";
import { MIGRATIONS, type Migration } from "./migrations.ts";
import { checkSchema, type DatabaseKind, readSchema, storedName } from "./state.ts";
import type { Db } from "./tables.ts";

export interface MigrationReport {
	version: number;
	applied: readonly string[];
}

export interface MigrateOptions {
	migrations?: readonly Migration[];
	/** Hears a sentence whenever something is done or has to wait. */
	tell?: (progress: string) => void;
}

/** No other process is inside at the same time, or each sees what those before it have stored. */
export type Transact = <Value>(work: (trx: Db) => Promise<Value>) => Promise<Value>;

export async function applyMigrations(
	kind: DatabaseKind,
	transact: Transact,
	nowMs: number,
	{ migrations = MIGRATIONS, tell = () => undefined }: MigrateOptions,
): Promise<MigrationReport> {
	await transact(makeVersionTable);
	const applied: string[] = [];
	for (;;) {
		const { version, name } = await transact((trx) => applyNext(trx, kind, migrations, nowMs));
		if (name === null) return { version, applied };
		applied.push(name);
		tell(`${name}: done; the schema is at version ${version}`);
	}
}

/** The version that it leaves, and the name of what was applied; null when there was nothing to do. */
async function applyNext(
	trx: Db,
	kind: DatabaseKind,
	migrations: readonly Migration[],
	nowMs: number,
): Promise<{ version: number; name: string | null }> {
	const present = await readSchema(trx);
	checkSchema(present, kind, migrations);
	const migration = migrations[present.version];
	if (migration === undefined) return { version: present.version, name: null };
	const version = present.version + 1;
	for (const statement of migration.statements(DIALECTS[kind])) await sql.raw(statement).execute(trx);
	// Together with its statements: a program must not meet a schema that says less than it is.
	await trx
		.insertInto("schema_versions")
		.values({
			version,
			name: storedName(migration, kind),
			// The last breaking one: a program that knows that one can live with the rest.
			oldest_program: migrations.slice(0, version).findLastIndex(({ isBreaking }) => isBreaking) + 1,
			applied_at_ms: nowMs,
		})
		.execute();
	return { version, name: migration.name };
}

async function makeVersionTable(trx: Db): Promise<void> {
	await sql`create table if not exists schema_versions (
		version integer primary key, name text not null, oldest_program integer not null,
		applied_at_ms bigint not null)`.execute(trx);
}
