// Brings a database to this program's schema, or refuses one that a newer program has changed beyond it.
// The caller holds the database's migration lock, so several processes may start at once.

import { type Kysely, sql } from "kysely";
import { sha256Hex } from "../domain/signature.ts";
import { MIGRATIONS, type Migration } from "./migrations.ts";
import type { Schema } from "./schema.ts";
import type { Dialect } from "./tables/dialect.ts";

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

/** Until the first release its schema was changed in place: a database from before cannot be brought up. */
export class UnreleasedSchemaError extends Error {
	constructor() {
		super(
			"This database was made by a Ringback from before the first release, and cannot be brought to the present " +
				"schema. Start with a new one: another DATABASE_URL, or move the old file away.",
		);
		this.name = "UnreleasedSchemaError";
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
	const [first] = migrations;
	if (present.firstName !== null && first !== undefined && present.firstName !== storedName(first, dialect))
		throw new UnreleasedSchemaError();
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
				name: storedName(migration, dialect),
				oldest_program: oldestProgramAfter(migrations, version),
				applied_at_ms: nowMs,
			})
			.execute();
		applied.push(migration.name);
	}
	return { version: Math.max(present.version, migrations.length), applied };
}

function storedName(migration: Migration, dialect: Dialect): string {
	if (migration.isUnreleased !== true) return migration.name;
	return `${migration.name} ${sha256Hex(migration.statements(dialect).join(";")).slice(0, 12)}`;
}

interface PresentSchema {
	version: number;
	oldestProgram: number;
	/** Of the migration that it began with; null for an empty database. */
	firstName: string | null;
}

async function presentSchema(trx: Kysely<Schema>): Promise<PresentSchema> {
	const rows = await trx
		.selectFrom("schema_versions")
		.select(["version", "name", "oldest_program"])
		.orderBy("version")
		.execute();
	const newest = rows.at(-1);
	return {
		version: newest?.version ?? 0,
		oldestProgram: newest?.oldest_program ?? 0,
		firstName: rows[0]?.name ?? null,
	};
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
