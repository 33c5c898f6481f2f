// Opens whichever database the settings name.

import type { Clock, Log } from "../ports.ts";
import { type MigrationReport, schemaVersion } from "./migrate.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { Store } from "./store.ts";

export type DatabaseSetting = { kind: "sqlite"; path: string } | { kind: "postgres"; url: string };

export function openStore(database: DatabaseSetting, deps: { clock: Clock; log: Log }): Store {
	return database.kind === "sqlite" ? openSqlite(database.path) : openPostgres(database.url, deps);
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
