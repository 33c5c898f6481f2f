// Creates and migrates a database for one round, and removes it afterwards.

import { rmSync } from "node:fs";
import { sql } from "kysely";
import { type DatabaseSetting, openStore } from "#core/store/open.ts";
import { POSTGRES_DEFAULTS } from "#core/store/postgres/setting.ts";
import type { Store } from "#core/store/store.ts";
import { realClock } from "../src/outside/clock.ts";
import { createLog } from "../src/outside/log.ts";
import { dropDatabase, type PostgresServer } from "../test/support/postgres.ts";
import { migrateDatabase, OWN_FOLDER } from "./service-process.ts";

export type Database = "SQLite" | "PostgreSQL";

export interface OpenedDatabase {
	url: string;
	postgresVersion: string | null;
	remove(): Promise<void>;
}

/** Creates a database with the schema of the service in the folder. */
export async function openDatabase(
	where: { file: string } | { server: PostgresServer; name: string },
	serviceFolder: string = OWN_FOLDER,
): Promise<OpenedDatabase> {
	const url = "file" in where ? `sqlite:${where.file}` : await where.server.createDatabase(where.name);
	const isOwn = serviceFolder === OWN_FOLDER;
	if (!isOwn) await migrateDatabase(serviceFolder, url);
	const postgresVersion = await withStore(url, async (store) => {
		if (isOwn) await store.migrate(Date.now());
		return store.kind === "postgres" ? readVersion(store) : null;
	});
	return {
		url,
		postgresVersion,
		async remove() {
			if ("server" in where) return dropDatabase(where.server.url(), where.name);
			for (const suffix of ["", "-wal", "-shm"]) rmSync(where.file + suffix, { force: true });
		},
	};
}

export const BENCH_IDENTITY = { instance: "bench", role: "bench", version: "" };

export async function withStore<Answer>(
	url: string,
	work: (store: Store) => Promise<Answer>,
): Promise<Answer> {
	const store = openStore(databaseSetting(url), {
		clock: realClock,
		log: createLog("error", BENCH_IDENTITY).log,
		name: "ringback-bench",
	});
	try {
		return await work(store);
	} finally {
		await store.close();
	}
}

export function databaseSetting(url: string): DatabaseSetting {
	return url.startsWith("sqlite:")
		? { kind: "sqlite", path: url.slice("sqlite:".length) }
		: { kind: "postgres", url, ...POSTGRES_DEFAULTS };
}

async function readVersion(store: Store): Promise<string> {
	const { rows } = await sql<{ server_version: string }>`show server_version`.execute(store.db);
	return rows[0]?.server_version ?? "unknown";
}
