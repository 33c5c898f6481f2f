// Opens whichever database the settings name.

import type { Clock, Log } from "../ports.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { Store } from "./store.ts";

export type DatabaseSetting = { kind: "sqlite"; path: string } | { kind: "postgres"; url: string };

export function openStore(database: DatabaseSetting, deps: { clock: Clock; log: Log }): Store {
	return database.kind === "sqlite" ? openSqlite(database.path) : openPostgres(database.url, deps);
}
