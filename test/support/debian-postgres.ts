// Finds an installed PostgreSQL with all its programs, server and clients of one version. The package from
// npm lacks pg_dump and pg_basebackup.

import { existsSync, readdirSync } from "node:fs";
import type { PostgresBinaries } from "./postgres-binaries.ts";

export const DEBIAN_POSTGRES_MISSING =
	"Dumps and base backups of PostgreSQL need a server and clients of the same version: apt-get install postgresql.";

const FOLDER = "/usr/lib/postgresql";

export interface DebianPostgres {
	/** The major version of PostgreSQL, such as "15". */
	version: string;
	/** Folder of the programs. */
	programs: string;
	binaries: PostgresBinaries;
}

export function findDebianPostgres(): DebianPostgres | undefined {
	const versions = existsSync(FOLDER) ? readdirSync(FOLDER) : [];
	const version = versions.find((name) =>
		["postgres", "pg_dump", "pg_basebackup"].every((program) =>
			existsSync(`${FOLDER}/${name}/bin/${program}`),
		),
	);
	if (version === undefined) return undefined;
	const programs = `${FOLDER}/${version}/bin`;
	return { version, programs, binaries: { initdb: `${programs}/initdb`, postgres: `${programs}/postgres` } };
}
