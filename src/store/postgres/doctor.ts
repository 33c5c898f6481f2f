// What PostgreSQL is asked about itself, at the start and by `ringback doctor`. Facts alone: what they mean is the doctor's.

import { sql } from "kysely";
import pg from "pg";
import type { Db } from "../store.ts";
import type { PostgresSetting } from "./setting.ts";

const CONNECT_TIMEOUT_MS = 5_000;

/** Over a connection of its own, past the pooler where there is one. */
async function askDirectly<Answer>(
	{ url, directUrl }: PostgresSetting,
	ask: (client: pg.Client) => Promise<Answer>,
): Promise<Answer> {
	const client = new pg.Client({
		connectionString: directUrl ?? url,
		connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
		query_timeout: CONNECT_TIMEOUT_MS,
		application_name: "ringback-command",
	});
	// A connection that breaks fails the query that waits on it.
	client.on("error", () => undefined);
	await client.connect();
	try {
		return await ask(client);
	} finally {
		await client.end();
	}
}

/**
 * Whether a word that is announced where queries go arrives where we would listen. Behind a pooler in transaction mode
 * LISTEN is taken without complaint, and nothing is ever heard.
 */
export function canListen(setting: PostgresSetting, db: Db): Promise<boolean> {
	return askDirectly(setting, async (client) => {
		let hasHeard = false;
		client.on("notification", () => {
			hasHeard = true;
		});
		const channel = `ringback_doctor_${process.pid}`;
		await client.query(`listen ${channel}`);
		await sql`select pg_notify(${channel}, '')`.execute(db);
		// Notifications come before the answer to the next question, at the latest.
		await client.query("select 1");
		return hasHeard;
	});
}

/** What every account may ask, and a pooler passes on. */
interface DatabaseEnd {
	name: string;
	/** Another one after the database was dropped and made again; clusters give the same numbers, though. */
	id: string;
	/** To the microsecond: no two servers have the same. */
	serverStart: string;
}

const READ_END = `select current_database() as name,
	(select oid::text from pg_database where datname = current_database()) as id,
	extract(epoch from pg_postmaster_start_time())::text as "serverStart"`;

/**
 * Whether both addresses lead to the same database. Where they do not, migrations would build tables in one database while
 * queries go to the other, and nothing announced in one is heard in the other. A sentence on what is wrong; null when
 * nothing is, or when one of them does not answer: whoever needs it will say so.
 */
export async function findDifferentEnds(setting: PostgresSetting, db: Db): Promise<string | null> {
	if (setting.directUrl === null) return null;
	try {
		const [queried] = (await sql.raw<DatabaseEnd>(READ_END).execute(db)).rows;
		const [direct] = (await askDirectly(setting, (client) => client.query<DatabaseEnd>(READ_END))).rows;
		return queried === undefined || direct === undefined ? null : describeDifference(queried, direct);
	} catch {
		return null;
	}
}

function describeDifference(queried: DatabaseEnd, direct: DatabaseEnd): string | null {
	const isSameServer = queried.serverStart === direct.serverStart;
	if (isSameServer && queried.id === direct.id) return null;
	const where = `"${queried.name}" and "${direct.name}" on ${isSameServer ? "one server" : "different servers"}`;
	return (
		`DATABASE_URL and RINGBACK_DATABASE_DIRECT_URL lead to different databases (${where}). Set ` +
		"RINGBACK_DATABASE_DIRECT_URL to the database that the pooler at DATABASE_URL leads to."
	);
}

export type ServerFacts = Awaited<ReturnType<typeof readServer>>;

/** How the server is set up for accounts like ours. */
export async function readServer(db: Db) {
	const { rows } = await sql<{
		/** 0 is without end. As a statement outside a transaction meets it. */
		statementTimeoutMs: number;
		/** It removes dead rows, and empties the list of new entries of the search index. */
		hasAutovacuum: boolean;
		maxConnections: number;
		/** In use by anybody. */
		connections: number;
	}>`select (select setting::bigint from pg_settings where name = 'statement_timeout') as "statementTimeoutMs",
		current_setting('autovacuum')::bool and current_setting('track_counts')::bool as "hasAutovacuum",
		current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
			as "maxConnections",
		(select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections`.execute(
		db,
	);
	const [found] = rows;
	if (found === undefined) throw new Error("PostgreSQL tells nothing about itself");
	return found;
}
