// Which schema a database has, and whether this program can work with it.

import { sha256Hex } from "../../domain/signature.ts";
import { DIALECTS } from "./dialect.ts";
import { MIGRATIONS, type Migration } from "./migrations.ts";
import type { Db } from "./tables.ts";

export type DatabaseKind = keyof typeof DIALECTS;

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

export interface PresentSchema {
	/** Zero for a database that Ringback has not been at. */
	version: number;
	oldestProgram: number;
	/** Of the migration that it began with; null for an empty database. */
	firstName: string | null;
}

const EMPTY: PresentSchema = { version: 0, oldestProgram: 0, firstName: null };

/** Of a database that may have no table of ours yet. */
export async function findSchema(db: Db): Promise<PresentSchema> {
	const tables = await db.introspection.getTables();
	return tables.some((table) => table.name === "schema_versions") ? readSchema(db) : EMPTY;
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
export function checkSchema(
	{ version, oldestProgram, firstName }: PresentSchema,
	kind: DatabaseKind,
	migrations: readonly Migration[] = MIGRATIONS,
): void {
	const [first] = migrations;
	if (firstName !== null && first !== undefined && firstName !== storedName(first, kind)) {
		throw new UnreleasedSchemaError();
	}
	if (oldestProgram > migrations.length) {
		throw new SchemaTooNewError(version, oldestProgram, migrations.length);
	}
}

/** What `schema_versions` calls it. */
export function storedName({ name, isHashed, statements }: Migration, kind: DatabaseKind): string {
	if (isHashed !== true) return name;
	// As 1.0.0 has hashed it, when migrations had several kinds of steps.
	const steps = [{ kind: "statements", statements: statements(DIALECTS[kind]) }];
	return `${name} ${sha256Hex(JSON.stringify(steps)).slice(0, 12)}`;
}
