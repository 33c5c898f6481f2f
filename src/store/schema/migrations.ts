// Forward-only migrations, in SQL that both databases read: the list, which of them a database has, and the runner. The SQL
// is in a file a release and is never edited after it: the next change is the next entry. What the tables have now is in
// `tables/`, as types.

import { sql } from "kysely";
import { DIALECTS, type Dialect } from "./dialect.ts";
import { firstSchema } from "./first-schema.ts";
import type { Db } from "./tables.ts";

export interface Migration {
	name: string;
	/** True when a program that does not know this migration must not run on the schema it leaves. */
	isBreaking: boolean;
	/**
	 * One transaction, which waits for locks for two seconds at a time while others work: what in it reads or writes a
	 * large table holds up callers meanwhile. See CONTRIBUTING.md.
	 */
	statements(dialect: Dialect): readonly string[];
}

/** The position in this list, counted from one, is the schema's version. */
export const MIGRATIONS: readonly Migration[] = [
	{ name: "first schema", isBreaking: true, statements: firstSchema },
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

/** Where nobody may change it by the way: see RINGBACK_MIGRATE. */
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
	/** Zero for a database that Ringback has not been at. */
	version: number;
	oldestProgram: number;
	/** Of the migration that it began with; null for an empty database. */
	firstName: string | null;
}

/** Of a database that may have no table of ours yet. */
export async function findSchema(db: Db): Promise<PresentSchema> {
	const tables = await db.introspection.getTables();
	const isOurs = tables.some((table) => table.name === "schema_versions");
	return isOurs ? readSchema(db) : { version: 0, oldestProgram: 0, firstName: null };
}

export async function readSchema(db: Db): Promise<PresentSchema> {
	const rows = await db
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

/** Throws when this program can neither work with it nor bring it up. */
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
	/** Hears a sentence whenever something is done or has to wait. */
	tell?: (progress: string) => void;
}

/** No other process is inside at the same time, or each sees what those before it have stored. */
export type Transact = <Value>(work: (trx: Db) => Promise<Value>) => Promise<Value>;

/** Each migration in a transaction of its own: one that is broken off leaves nothing of itself, and the next start goes on. */
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

/** The version that it leaves, and the name of what was applied; null when there was nothing to do. */
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
	// Together with its statements: a program must not meet a schema that says less than it is.
	await trx
		.insertInto("schema_versions")
		.values({
			version,
			name: migration.name,
			// The last breaking one: a program that knows that one can live with the rest.
			oldest_program: migrations.slice(0, version).findLastIndex(({ isBreaking }) => isBreaking) + 1,
			applied_at_ms: nowMs,
		})
		.execute();
	return { version, name: migration.name };
}
