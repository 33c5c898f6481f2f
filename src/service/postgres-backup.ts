// What it takes to back up a PostgreSQL database with PostgreSQL's own programs: which server it is, and which pg_dump
// the machine has.

import { sql } from "kysely";
import type { Config } from "../config.ts";
import { majorVersion } from "../domain/postgres-dump.ts";
import { findProgram } from "../outside/postgres-programs.ts";
import { openWorkplace } from "./workplace.ts";

export interface PostgresBackup {
	serverVersion: string;
	serverMajor: number;
	databaseBytes: number;
	/** In the PATH; null when there is none. */
	pgDump: string | null;
	/** pg_dump refuses a server that is newer than itself. */
	isPgDumpGood: boolean;
}

export async function preparePostgresBackup(config: Config): Promise<PostgresBackup> {
	const workplace = await openWorkplace(config, { schema: "inspect" });
	try {
		const { rows } = await sql<{ version: string; bytes: number }>`
			select current_setting('server_version') as version, pg_database_size(current_database()) as bytes`.execute(
			workplace.store.db,
		);
		const { version: serverVersion = "", bytes: databaseBytes = 0 } = rows[0] ?? {};
		const serverMajor = majorVersion(serverVersion) ?? 0;
		const pgDump = await findProgram("pg_dump");
		const isPgDumpGood = pgDump !== null && (majorVersion(pgDump) ?? 0) >= serverMajor;
		return { serverVersion, serverMajor, databaseBytes, pgDump, isPgDumpGood };
	} finally {
		await workplace.close();
	}
}
