// Opens whichever database the settings name.

import { type MigrationReport, schemaVersion } from "./migrate.ts";
import { openPostgres, type PostgresDeps } from "./postgres.ts";
import type { PostgresSetting } from "./postgres-setting.ts";
import { openSqlite } from "./sqlite.ts";
import type { Store } from "./store.ts";

export type DatabaseSetting = { kind: "sqlite"; path: string } | PostgresSetting;

export function openStore(database: DatabaseSetting, deps: PostgresDeps): Store {
	return database.kind === "sqlite" ? openSqlite(database.path) : openPostgres(database, deps);
}

/** "inspect" leaves the schema as it is, and only says which one it is. */
export async function prepareSchema(
	store: Store,
	schema: "migrate" | "inspect",
	nowMs: number,
): Promise<MigrationReport> {
	if (schema === "migrate") return store.migrate(nowMs);
	return { version: await schemaVersion(store.db), applied: [] };
}

/** What a pooler answers to start-up parameters that it does not know (SQLSTATE protocol_violation). */
export function isPoolerRefusal(error: unknown): boolean {
	return error instanceof Error && "code" in error && error.code === "08P01";
}
