// Reads facts about the PostgreSQL server, which the start of the service and `ringback doctor` interpret.

import { sql } from "kysely";
import pg from "pg";
import type { Log } from "../../ports.ts";
import type { Db } from "../store.ts";
import { chooseServer } from "./servers.ts";
import { hostsOf, type PostgresSetting } from "./setting.ts";

/** Log that discards everything, because the store already logs which server it uses. */
const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

const CONNECT_TIMEOUT_MS = 5_000;

/** Runs queries over a separate connection that bypasses a pooler. */
async function askDirectly<Answer>(
	{ url, directUrl }: PostgresSetting,
	ask: (client: pg.Client) => Promise<Answer>,
): Promise<Answer> {
	const servers = chooseServer(hostsOf(directUrl ?? url), SILENT);
	await servers.ready();
	const client = new pg.Client({
		connectionString: servers.url(),
		connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
		query_timeout: CONNECT_TIMEOUT_MS,
		application_name: "ringback-command",
	});
	// The waiting query fails with the same error, so nothing else has to be done.
	client.on("error", () => undefined);
	await client.connect();
	try {
		return await ask(client);
	} finally {
		await client.end();
	}
}

/**
 * Checks that a notification sent over the query connections arrives at a listening connection. A pooler in
 * transaction mode accepts LISTEN, but notifications never arrive.
 */
export function canListen(setting: PostgresSetting, db: Db): Promise<boolean> {
	return askDirectly(setting, async (client) => {
		let hasArrived = false;
		client.on("notification", () => {
			hasArrived = true;
		});
		const channel = `ringback_doctor_${process.pid}`;
		await client.query(`listen ${channel}`);
		await sql`select pg_notify(${channel}, '')`.execute(db);
		// A notification arrives before the answer to the next query.
		await client.query("select 1");
		return hasArrived;
	});
}

/** Values that identify a database. Every account may query them, even through a pooler. */
interface DatabaseEnd {
	name: string;
	/**
	 * Object id of the database. It changes if the database is dropped and created again. Two databases on different
	 * servers may have the same object id.
	 */
	id: string;
	/** Start time of the server to the microsecond. Two servers never have the same start time. */
	serverStart: string;
}

const READ_END = `select current_database() as name,
	(select oid::text from pg_database where datname = current_database()) as id,
	extract(epoch from pg_postmaster_start_time())::text as "serverStart"`;

/**
 * Checks that the address for queries and the direct address lead to the same database. Otherwise migrations would
 * create tables in one database while queries use the other, and notifications would be lost. Returns a sentence about
 * the problem. Returns null if there is no problem, or if one of the addresses does not answer. Its first query will
 * then report the error.
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

export async function readServer(db: Db) {
	const { rows } = await sql<{
		/** Time limit of a statement outside a transaction. 0 means no limit. */
		statementTimeoutMs: number;
		/** Whether autovacuum runs. It removes dead rows and merges the pending list of the search index. */
		hasAutovacuum: boolean;
		maxConnections: number;
		connections: number;
	}>`select (select setting::bigint from pg_settings where name = 'statement_timeout') as "statementTimeoutMs",
		current_setting('autovacuum')::bool and current_setting('track_counts')::bool as "hasAutovacuum",
		current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
			as "maxConnections",
		(select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections`.execute(
		db,
	);
	const [found] = rows;
	if (found === undefined) throw new Error("a select without a table always has a row");
	return found;
}
