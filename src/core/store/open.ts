import type { PostgresSetting } from "./postgres/setting.ts";
import { openPostgres, type PostgresDeps } from "./postgres/store.ts";
import {
	checkSchema,
	findSchema,
	MIGRATIONS,
	type MigrateOptions,
	type MigrationReport,
	type PresentSchema,
	SchemaTooOldError,
} from "./schema/migrations.ts";
import { openSqlite } from "./sqlite/store.ts";
import type { Store } from "./store.ts";

export type DatabaseSetting = { kind: "sqlite"; path: string } | PostgresSetting;

export function openStore(database: DatabaseSetting, deps: PostgresDeps): Store {
	return database.kind === "sqlite" ? openSqlite(database.path, deps.clock) : openPostgres(database, deps);
}

/**
 * Prepares the schema for a program. "migrate" applies missing migrations, "check" throws if this program cannot run on
 * the schema as it is, and "inspect" only reads the version.
 */
export async function prepareSchema(
	store: Store,
	schema: "migrate" | "check" | "inspect",
	nowMs: number,
	options: MigrateOptions = {},
): Promise<MigrationReport> {
	if (schema === "migrate") return store.migrate(nowMs, options);
	const present = await findSchema(store.db);
	if (schema === "check") refuseSchema(present, schema);
	return { version: present.version, applied: [] };
}

/** Throws if a service that migrates the schema at start, or only checks it, could not run on the present schema. */
export function refuseSchema(present: PresentSchema, schema: "migrate" | "check"): void {
	checkSchema(present);
	const isOld = present.version < MIGRATIONS.length;
	if (schema === "check" && isOld) throw new SchemaTooOldError(present.version, MIGRATIONS.length);
}

/** Returns whether the error is a pooler's refusal of unknown start-up parameters (SQLSTATE protocol_violation). */
export function isPoolerRefusal(error: unknown): boolean {
	return error instanceof Error && "code" in error && error.code === "08P01";
}
