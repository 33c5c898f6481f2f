// Whether both addresses of PostgreSQL lead to the same database. Where they do not, migrations would build tables in one
// database while queries go to the other, and nothing announced in one is heard in the other.

import { sql } from "kysely";
import pg from "pg";
import type { Db } from "../store.ts";
import type { PostgresSetting } from "./setting.ts";

const CONNECT_TIMEOUT_MS = 5_000;

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

/** A sentence on what is wrong; null when nothing is, or when one of them does not answer: whoever needs it will say so. */
export async function findDifferentEnds({ directUrl }: PostgresSetting, db: Db): Promise<string | null> {
	if (directUrl === null) return null;
	try {
		const { rows } = await sql.raw<DatabaseEnd>(READ_END).execute(db);
		const direct = await readDirectEnd(directUrl);
		const [queried] = rows;
		return queried === undefined || direct === undefined ? null : describeDifference(queried, direct);
	} catch {
		return null;
	}
}

async function readDirectEnd(directUrl: string): Promise<DatabaseEnd | undefined> {
	const client = new pg.Client({
		connectionString: directUrl,
		connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
		query_timeout: CONNECT_TIMEOUT_MS,
		application_name: "ringback-compare",
	});
	// A connection that breaks fails the query that waits on it.
	client.on("error", () => undefined);
	await client.connect();
	try {
		return (await client.query<DatabaseEnd>(READ_END)).rows[0];
	} finally {
		await client.end();
	}
}

function describeDifference(queried: DatabaseEnd, direct: DatabaseEnd): string | null {
	const isSameServer = queried.serverStart === direct.serverStart;
	if (isSameServer && queried.id === direct.id) return null;
	const where = isSameServer
		? `"${queried.name}" and "${direct.name}" on one server`
		: `"${queried.name}" and "${direct.name}" on different servers`;
	return (
		`DATABASE_URL and RINGBACK_DATABASE_DIRECT_URL lead to different databases (${where}). Set ` +
		"RINGBACK_DATABASE_DIRECT_URL to the database that the pooler at DATABASE_URL leads to."
	);
}
