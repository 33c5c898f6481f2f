// A store over either database, for tests that treat both alike. Apart from databases.ts, because processes
// that a test starts use it too, and they are not test files.

import { openPostgres } from "../../src/store/postgres.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { createClock } from "./clock.ts";
import { createLog } from "./log.ts";

export const DATABASE_KINDS = ["SQLite", "PostgreSQL"] as const;
export type DatabaseKind = (typeof DATABASE_KINDS)[number];

/** `location` is a file's path or a URL. */
export function openStore(kind: DatabaseKind, location: string): Store {
	return kind === "SQLite"
		? openSqlite(location)
		: openPostgres(location, { clock: createClock(), log: createLog() });
}
