// Brings a database to this program's schema, or refuses one that a newer program has changed beyond it.
// The caller holds the database's migration lock, so several processes may start at once.

import { type Kysely, sql } from "kysely";
import { type Dialect, MIGRATIONS, type Migration } from "./migrations.ts";
import type { Schema } from "./schema.ts";

export class SchemaTooNewError extends Error {
	constructor(schemaVersion: number, oldestProgram: number, programVersion: number) {
		super(
			`The database has schema version ${schemaVersion}, which needs a Ringback that knows version ` +
				`${oldestProgram} or later; this one knows ${programVersion}. Start a newer Ringback, or restore a backup ` +
				"from before the upgrade.",
		);
		this.name = "SchemaTooNewError";
	}
}

export interface MigrationReport {
	version: number;
	applied: readonly string[];
}

/** Must run inside a transaction that no other migrating process can share. */
export async function applyMigrations(
	trx: Kysely<Schema>,
	dialect: Dialect,
	nowMs: number,
	migrations: readonly Migration[] = MIGRATIONS,
): Promise<MigrationReport> {
	await sql`create table if not exists schema_versions (
		version integer primary key, name text not null, oldest_program integer not null, applied_at_ms bigint not null)`.execute(
		trx,
	);
	const present = await presentSchema(trx);
	if (present.oldestProgram > migrations.length) {
		throw new SchemaTooNewError(present.version, present.oldestProgram, migrations.length);
	}
	const applied: string[] = [];
	for (const [index, migration] of migrations.entries()) {
		const version = index + 1;
		if (version <= present.version) continue;
		for (const statement of migration.statements(dialect)) await sql.raw(statement).execute(trx);
		await trx
			.insertInto("schema_versions")
			.values({
				version,
				name: migration.name,
				oldest_program: oldestProgramAfter(migrations, version),
				applied_at_ms: nowMs,
			})
			.execute();
		applied.push(migration.name);
	}
	return { version: Math.max(present.version, migrations.length), applied };
}

async function presentSchema(trx: Kysely<Schema>): Promise<{ version: number; oldestProgram: number }> {
	const row = await trx
		.selectFrom("schema_versions")
		.select(["version", "oldest_program"])
		.orderBy("version", "desc")
		.limit(1)
		.executeTakeFirst();
	return { version: row?.version ?? 0, oldestProgram: row?.oldest_program ?? 0 };
}

/** The last breaking migration up to `version`: a program that knows that one can live with the rest. */
function oldestProgramAfter(migrations: readonly Migration[], version: number): number {
	return migrations.slice(0, version).findLastIndex((migration) => migration.isBreaking) + 1;
}

/** Zero for a database that Ringback has not been at. */
export async function schemaVersion(db: Kysely<Schema>): Promise<number> {
	const tables = await db.introspection.getTables();
	if (!tables.some((table) => table.name === "schema_versions")) return 0;
	return (await presentSchema(db)).version;
}
