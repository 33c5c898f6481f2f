// List of migrations, detection of a database's schema, and the code that applies missing migrations. Migrations only
// go forward. The SQL of a released migration is never edited, and the next change is the next entry of the list. The
// current types of the tables are in `tables/`.

import { sql } from "kysely";
import { decidedConversions } from "./decided-conversions.ts";
import { DIALECTS, type Dialect } from "./dialect.ts";
import { endpointsWithUrls } from "./endpoints-with-urls.ts";
import { erasureTables } from "./erasures.ts";
import { firstSchema } from "./first-schema.ts";
import { ratesOnRecord } from "./rates-on-record.ts";
import { recordedBackups } from "./recorded-backups.ts";
import { restoresTable } from "./restores.ts";
import { replaceableSealingKey } from "./sealing-key.ts";
import { statementsToPay } from "./statements-to-pay.ts";
import type { Db } from "./tables.ts";
import { writtenOutCommissions } from "./written-out-commissions.ts";

export interface Migration {
	name: string;
	/** True if a program that does not know this migration cannot work on the schema after it. */
	isBreaking: boolean;
	/**
	 * Returns the SQL statements, which run in one transaction. While other processes work, the transaction waits for a
	 * lock for two seconds at a time. A statement that reads or writes a large table delays callers meanwhile. See
	 * CONTRIBUTING.md.
	 */
	statements(dialect: Dialect): readonly string[];
}

/** All migrations. A migration's position, counted from one, is the schema version that it leaves. */
export const MIGRATIONS: readonly Migration[] = [
	{ name: "first schema", isBreaking: true, statements: firstSchema },
	{
		name: "commissions of partners written out for event types",
		isBreaking: false,
		statements: writtenOutCommissions,
	},
	{ name: "erasures", isBreaking: false, statements: erasureTables },
	{ name: "recorded backups", isBreaking: false, statements: recordedBackups },
	{ name: "statements that are to be paid", isBreaking: false, statements: statementsToPay },
	{ name: "replaceable sealing key", isBreaking: false, statements: replaceableSealingKey },
	{ name: "restores", isBreaking: false, statements: restoresTable },
	{ name: "conversions decided in all programmes", isBreaking: false, statements: decidedConversions },
	{ name: "rates on record", isBreaking: false, statements: ratesOnRecord },
	{ name: "endpoints with URLs only", isBreaking: false, statements: endpointsWithUrls },
];

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

/** Thrown if the schema is old and RINGBACK_MIGRATE forbids changing it at start. */
export class SchemaTooOldError extends Error {
	constructor(schemaVersion: number, programVersion: number) {
		super(
			`The database has schema version ${schemaVersion}, and this Ringback needs ${programVersion}. Run ` +
				"`ringback migrate` first: RINGBACK_MIGRATE is check, so nothing else changes the schema.",
		);
		this.name = "SchemaTooOldError";
	}
}

export interface PresentSchema {
	/** Schema version, or 0 for a database without Ringback's tables. */
	version: number;
	oldestProgram: number;
	/** Name of the first migration, or null for an empty database. */
	firstName: string | null;
	/** Time at which the database was created, or null for an empty database. */
	createdAtMs: number | null;
}

/** Returns the schema of a database, which may have none of our tables yet. */
export async function findSchema(db: Db): Promise<PresentSchema> {
	const tables = await db.introspection.getTables();
	const isOurs = tables.some((table) => table.name === "schema_versions");
	return isOurs ? readSchema(db) : { version: 0, oldestProgram: 0, firstName: null, createdAtMs: null };
}

export async function readSchema(db: Db): Promise<PresentSchema> {
	const rows = await db
		.selectFrom("schema_versions")
		.select(["version", "name", "oldest_program", "applied_at_ms"])
		.orderBy("version")
		.execute();
	const newest = rows.at(-1);
	return {
		version: newest?.version ?? 0,
		oldestProgram: newest?.oldest_program ?? 0,
		firstName: rows[0]?.name ?? null,
		createdAtMs: rows[0]?.applied_at_ms ?? null,
	};
}

/** Throws if this program can neither work with the schema nor migrate it. */
export function checkSchema({ version, oldestProgram }: PresentSchema, migrations = MIGRATIONS): void {
	if (oldestProgram > migrations.length) {
		throw new SchemaTooNewError(version, oldestProgram, migrations.length);
	}
}

export interface MigrationReport {
	version: number;
	applied: readonly string[];
}

export interface MigrateOptions {
	migrations?: readonly Migration[];
	/** Called with a sentence when a migration is done or has to wait for a lock. */
	tell?: (progress: string) => void;
}

/**
 * Runs a transaction of a migration. Migrations of several processes must not run at the same time, or each must see
 * the changes that earlier ones have stored.
 */
export type Transact = <Value>(work: (trx: Db) => Promise<Value>) => Promise<Value>;

/**
 * Applies each missing migration in its own transaction. An interrupted migration leaves no changes behind, and the
 * next start continues with it.
 */
export async function applyMigrations(
	kind: Dialect["kind"],
	transact: Transact,
	nowMs: number,
	{ migrations = MIGRATIONS, tell = () => undefined }: MigrateOptions,
): Promise<MigrationReport> {
	await transact((trx) =>
		sql`create table if not exists schema_versions (
			version integer primary key, name text not null, oldest_program integer not null,
			applied_at_ms bigint not null)`.execute(trx),
	);
	const applied: string[] = [];
	for (;;) {
		const { version, name } = await transact((trx) => applyNext(trx, kind, migrations, nowMs));
		if (name === null) return { version, applied };
		applied.push(name);
		tell(`${name}: done; the schema is at version ${version}`);
	}
}

/**
 * Applies the next migration. Returns the new version and the name of the migration, or null if no migration was
 * missing.
 */
async function applyNext(
	trx: Db,
	kind: Dialect["kind"],
	migrations: readonly Migration[],
	nowMs: number,
): Promise<{ version: number; name: string | null }> {
	const present = await readSchema(trx);
	checkSchema(present, migrations);
	const migration = migrations[present.version];
	if (migration === undefined) return { version: present.version, name: null };
	const version = present.version + 1;
	for (const statement of migration.statements(DIALECTS[kind])) await sql.raw(statement).execute(trx);
	// The version is stored in the same transaction as the statements, so that no program finds a newer schema than the
	// version says.
	await trx
		.insertInto("schema_versions")
		.values({
			version,
			name: migration.name,
			// A program that knows the last breaking migration can work with all later ones.
			oldest_program: migrations.slice(0, version).findLastIndex(({ isBreaking }) => isBreaking) + 1,
			applied_at_ms: nowMs,
		})
		.execute();
	return { version, name: migration.name };
}
