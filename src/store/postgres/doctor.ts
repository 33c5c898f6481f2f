// What `ringback doctor` asks PostgreSQL about itself. Facts alone: what they mean is the doctor's.

import { sql } from "kysely";
import pg from "pg";
import type { Db } from "../store.ts";
import type { PostgresSetting } from "./setting.ts";

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Whether a word that is announced where queries go arrives where we would listen. Behind a pooler in transaction mode
 * LISTEN is taken without complaint, and nothing is ever heard.
 */
export async function canListen({ url, directUrl }: PostgresSetting, db: Db): Promise<boolean> {
	const client = new pg.Client({
		connectionString: directUrl ?? url,
		connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
		application_name: "ringback-command-listen",
	});
	let hasHeard = false;
	client.on("notification", () => {
		hasHeard = true;
	});
	// A connection that breaks fails the query that waits on it.
	client.on("error", () => undefined);
	await client.connect();
	try {
		const channel = `ringback_doctor_${process.pid}`;
		await client.query(`listen ${channel}`);
		await sql`select pg_notify(${channel}, '')`.execute(db);
		// Notifications come before the answer to the next question, at the latest.
		await client.query("select 1");
		return hasHeard;
	} finally {
		await client.end();
	}
}

/** In milliseconds; 0 is without end. As a statement outside a transaction meets it. */
export async function readStatementTimeout(db: Db): Promise<number> {
	const { rows } = await sql<{ ms: number }>`
		select setting::bigint as ms from pg_settings where name = 'statement_timeout'`.execute(db);
	return rows[0]?.ms ?? 0;
}

export interface ServerState {
	/** Connections that are there for accounts like ours, and those in use by anybody. */
	maxConnections: number;
	connections: number;
	/** Of the transaction that has been open for longest in this database; null when none is. */
	oldestTransactionMs: number | null;
	vacuumsByItself: boolean;
	/** Tables with more dead rows than living ones, and many. */
	bloated: readonly { table: string; deadRows: number }[];
}

/** Below this many nobody notices them. */
const MANY_DEAD_ROWS = 100_000;

export async function readServerState(db: Db): Promise<ServerState> {
	const { rows } = await sql<Omit<ServerState, "bloated">>`
		select
			current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
				as "maxConnections",
			count(*)::int as connections,
			(extract(epoch from max(now() - xact_start) filter (
				where datname = current_database() and pid <> pg_backend_pid())) * 1000)::bigint as "oldestTransactionMs",
			current_setting('autovacuum')::boolean as "vacuumsByItself"
		from pg_stat_activity where backend_type = 'client backend'`.execute(db);
	const [state] = rows;
	if (state === undefined) throw new Error("PostgreSQL tells nothing about itself");
	const bloated = await sql<{ table: string; deadRows: number }>`
		select relname as "table", n_dead_tup as "deadRows" from pg_stat_user_tables
		where n_dead_tup > greatest(n_live_tup, ${MANY_DEAD_ROWS}) order by n_dead_tup desc`.execute(db);
	return { ...state, bloated: bloated.rows };
}
