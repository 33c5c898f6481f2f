// Applies migrations on PostgreSQL. They use one connection, which holds an advisory lock over all their
// transactions, so that only one process migrates. The lock belongs to the session and ends with the process.

import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { applyMigrations, type MigrateOptions, type MigrationReport } from "../schema/migrations.ts";
import type { Db, Schema } from "../schema/tables.ts";
import { waitedForLock } from "../unavailable.ts";

interface PostgresMigration {
	url: string;
	types: pg.CustomTypesConfig;
	/** Called after the last migration, on the connection that holds the migration lock. */
	afterwards(connection: Db): Promise<void>;
}

/** Number of the advisory lock, the same in every version of Ringback. */
const MIGRATION_LOCK = 7_464_225;

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Time to wait for a table lock. All other statements on the table queue behind a migration that waits for its lock.
 * The migration therefore gives up after two seconds, lets the others through, and tries again.
 */
const LOCK_TIMEOUT_MS = 2_000;
const LOCK_PAUSE_SECONDS = 1;
/**
 * Maximum number of attempts to lock a table, which take about five minutes. If a backup holds the table for longer,
 * the operator must migrate at another time.
 */
const LOCK_ATTEMPTS = 100;

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
		// A pooler refuses connections with this start-up parameter. A migration that would run through a pooler
		// therefore fails before its first statement.
		lock_timeout: LOCK_TIMEOUT_MS,
		types,
	});
	// The query that waits for the connection fails with the same error, so nothing else has to be done.
	pool.on("error", () => undefined);
	const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
	try {
		// All statements must use this connection, because it holds the lock.
		return await db.connection().execute(async (connection) => {
			await takeLock(connection, tell);
			const report = await applyMigrations(
				"postgres",
				(work) => retryOnLock(connection, tell, () => connection.transaction().execute(work)),
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

async function takeLock(connection: Db, tell: (progress: string) => void): Promise<void> {
	for (let attempt = 1; ; attempt++) {
		const { rows } = await sql<{ isTaken: boolean }>`
			select pg_try_advisory_lock(${MIGRATION_LOCK}) as "isTaken"`.execute(connection);
		if (rows[0]?.isTaken === true) return;
		if (attempt === 1) tell("another process is migrating the database; waiting for it");
		await pause(connection, 0.2);
	}
}

async function retryOnLock<Value>(
	connection: Db,
	tell: (progress: string) => void,
	work: () => Promise<Value>,
): Promise<Value> {
	for (let attempt = 1; ; attempt++) {
		try {
			return await work();
		} catch (error) {
			if (!waitedForLock(error) || attempt === LOCK_ATTEMPTS) throw error;
			tell(`a table that has to be changed is in use; trying again (${attempt} of ${LOCK_ATTEMPTS})`);
			await pause(connection, LOCK_PAUSE_SECONDS);
		}
	}
}

/** Waits by running `pg_sleep` on the server, because this connection has no other work. */
async function pause(connection: Db, seconds: number): Promise<void> {
	await sql`select pg_sleep(${seconds})`.execute(connection);
}
