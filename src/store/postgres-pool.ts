// The connections to PostgreSQL, as Kysely uses them. A connection that breaks fails its queries with a code that
// says so: the driver's own errors have none, and the ROLLBACK that then fails hides the first one. Hot statements are
// sent under their names.

import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import type pg from "pg";
import { hotStatementName } from "./hot-statement.ts";

/** SQLSTATE connection_failure: see unavailable.ts. */
const CONNECTION_FAILURE = "08006";

export interface ConnectionOptions {
	/** Whether hot statements get their names. PgBouncer before 1.21 does not know them in its transaction mode. */
	preparesStatements: boolean;
}

export function toKyselyPool(pool: pg.Pool, options: ConnectionOptions): PostgresPool {
	// One for each connection, as long as it lasts: Kysely knows them by identity.
	const known = new WeakMap<pg.PoolClient, PostgresPoolClient>();
	pool.on("connect", (client) => known.set(client, watchConnection(client, options)));
	return {
		options: pool.options,
		end: () => pool.end(),
		async connect() {
			// Whatever has no code of the server's or the system's is a connection that was not made in time.
			const client = await pool.connect().catch((error: unknown) => {
				throw withCode(error);
			});
			return known.get(client) ?? watchConnection(client, options);
		},
	};
}

function watchConnection(
	client: pg.PoolClient,
	{ preparesStatements }: ConnectionOptions,
): PostgresPoolClient {
	let isBroken = false;
	// Must be heard in any case: an error nobody listens for would end the process.
	client.on("error", () => {
		isBroken = true;
	});
	function query<Row>(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<Row>>;
	function query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>;
	function query(text: string | object, parameters: readonly unknown[] = []): object {
		if (typeof text !== "string") throw new Error("no query of ours is read through a cursor");
		const name = preparesStatements ? hotStatementName(text) : undefined;
		const values = [...parameters];
		return client
			.query(name === undefined ? { text, values } : { name, text, values })
			.catch((error: unknown) => {
				throw isBroken ? withCode(error) : error;
			});
	}
	return { query, release: (destroy) => client.release(destroy) };
}

function withCode(error: unknown): unknown {
	return error instanceof Error && !("code" in error)
		? Object.assign(error, { code: CONNECTION_FAILURE })
		: error;
}
