// What `ringback doctor` asks PostgreSQL about itself. Facts alone: what they mean is the doctor's.

import { sql } from "kysely";
import pg from "pg";
import type { PostgresSetting } from "./postgres-setting.ts";
import type { Db } from "./store.ts";

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
