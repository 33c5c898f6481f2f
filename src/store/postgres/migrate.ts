// Migrations on PostgreSQL: on one connection of their own, which holds the lock that keeps others out over all their
// transactions. The lock is the session's, so it goes with the process that held it.

import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { applyMigrations, type MigrateOptions, type MigrationReport } from "../schema/migrations.ts";
import type { Db, Schema } from "../schema/tables.ts";
import { waitedForLock } from "../unavailable.ts";

interface PostgresMigration {
	url: string;
	types: pg.CustomTypesConfig;
	/** Behind the last migration, on the connection that holds the lock. */
	afterwards(connection: Db): Promise<void>;
}

/** Any number will do, as long as every Ringback takes the same one. */
const MIGRATION_LOCK = 7_464_225;

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Whoever waits for a lock that a reader holds makes everybody else wait behind it. So we wait two seconds at most, let
 * the others through, and come again.
 */
const LOCK_TIMEOUT_MS = 2_000;
const LOCK_PAUSE_SECONDS = 1;
/** Five minutes. A backup may take longer: then somebody has to choose another time. */
const LOCK_TRIES = 100;

export async function migratePostgres(
	{ url, types, afterwards }: PostgresMigration,
	nowMs: number,
	options: MigrateOptions,
): Promise<MigrationReport> {
	const { tell = () => undefined } = options;
	const pool = new pg.Pool({
		connectionString: url,
		max: 1,
		connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
		keepAlive: true,
		application_name: "ringback-migrate",
		// A pooler refuses it at once by this, before anything is done through it.
		lock_timeout: LOCK_TIMEOUT_MS,
		types,
	});
	// It fails the query that waits for it; nothing else has to be done about it.
	pool.on("error", () => undefined);
	const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
	try {
		// Pinned: another connection of the pool would not have the lock.
		return await db.connection().execute(async (connection) => {
			await takeLock(connection, tell);
			const report = await applyMigrations(
				"postgres",
				(work) => withPatience(connection, tell, () => connection.transaction().execute(work)),
				nowMs,
				options,
			);
			await afterwards(connection);
			return report;
		});
	} finally {
		await db.destroy();
	}
}

/** Waits for as long as another process migrates. */
async function takeLock(connection: Db, tell: (progress: string) => void): Promise<void> {
	for (let tried = 1; ; tried++) {
		const { rows } = await sql<{ isOurs: boolean }>`
			select pg_try_advisory_lock(${MIGRATION_LOCK}) as "isOurs"`.execute(connection);
		if (rows[0]?.isOurs === true) return;
		if (tried === 1) tell("another process migrates the database; waiting for it");
		await pause(connection, 0.2);
	}
}

async function withPatience<Value>(
	connection: Db,
	tell: (progress: string) => void,
	work: () => Promise<Value>,
): Promise<Value> {
	for (let tried = 1; ; tried++) {
		try {
			return await work();
		} catch (error) {
			if (!waitedForLock(error) || tried === LOCK_TRIES) throw error;
			tell(`a table that has to be changed is in use; trying again (${tried} of ${LOCK_TRIES})`);
			await pause(connection, LOCK_PAUSE_SECONDS);
		}
	}
}

/** On the server: this connection has nothing else to do. */
async function pause(connection: Db, seconds: number): Promise<void> {
	await sql`select pg_sleep(${seconds})`.execute(connection);
}
