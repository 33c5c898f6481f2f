// The connections to PostgreSQL, as Kysely uses them. A connection that breaks or falls silent fails its queries with
// a code that says so: the driver's own errors have none, and the ROLLBACK that then fails hides the first one. Hot
// statements are sent under their names.

import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import type pg from "pg";
import { CONNECTION_FAILURE, type PostgresConnections } from "./connections.ts";
import { hotStatementName } from "./hot-statement.ts";

/** What the driver says, without a code, when its `query_timeout` has passed. */
const NO_ANSWER = "Query read timeout";

/**
 * The server's own limits, in milliseconds, so that what nobody waits for any more ends there too. Far above any query
 * of ours. Who waits for a lock is told before who works.
 */
export const SERVER_TIMEOUTS = {
	statement_timeout: 15_000,
	lock_timeout: 10_000,
	/** We may vanish, too: our locks must not outlive us for long. */
	idle_in_transaction_session_timeout: 15_000,
} as const;

/**
 * What is set with `begin`, in the same round trip. A pooler in transaction mode takes no such parameters when a
 * connection starts, and gives each transaction another session.
 */
function localTimeouts({ isPooled, lockWaitMs }: ConnectionOptions): readonly string[] {
	const timeouts = {
		...(isPooled ? SERVER_TIMEOUTS : {}),
		...(lockWaitMs === undefined ? {} : { lock_timeout: lockWaitMs }),
	};
	return Object.entries(timeouts).map(([name, ms]) => `set local ${name} = ${ms}`);
}

export interface ConnectionOptions {
	/** Whether hot statements get their names. PgBouncer before 1.21 does not know them in its transaction mode. */
	preparesStatements: boolean;
	/** A pooler in transaction mode stands between. */
	isPooled: boolean;
	/** For how long its transactions wait for a lock: as SERVER_TIMEOUTS says unless told. */
	lockWaitMs?: number;
}

export function toKyselyPool(connections: PostgresConnections, options: ConnectionOptions): PostgresPool {
	// One for each connection, as long as it lasts: Kysely knows them by identity.
	const known = new WeakMap<pg.PoolClient, PostgresPoolClient>();
	return {
		options: connections.pool.options,
		end: () => connections.end(),
		async connect() {
			// Whatever has no code of the server's or the system's is a connection that was not made in time.
			const client = await connections.connect().catch((error: unknown) => {
				throw withCode(error);
			});
			const connection = known.get(client) ?? watchConnection(connections, client, options);
			known.set(client, connection);
			return connection;
		},
	};
}

function watchConnection(
	connections: PostgresConnections,
	client: pg.PoolClient,
	options: ConnectionOptions,
): PostgresPoolClient {
	const timeouts = localTimeouts(options);
	let isBroken = false;
	// Must be heard in any case: an error nobody listens for would end the process.
	client.on("error", () => {
		isBroken = true;
	});
	function query<Row>(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<Row>>;
	function query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>;
	function query(text: string | object, parameters: readonly unknown[] = []): object {
		if (typeof text !== "string") throw new Error("no query of ours is read through a cursor");
		// A ROLLBACK would wait behind the statement that has no answer, as long again.
		if (isBroken) return Promise.reject(withCode(new Error("the connection to the database is lost")));
		const name = options.preparesStatements ? hotStatementName(text) : undefined;
		const sent = timeouts.length > 0 && TRANSACTION_START.test(text) ? [text, ...timeouts].join("; ") : text;
		const values = [...parameters];
		const statement = name === undefined ? { text: sent, values } : { name, text: sent, values };
		return connections
			.ask(() => client.query(statement))
			.catch((error: unknown) => {
				// What the server still does, nobody knows: the connection is of no more use.
				if (hasNoAnswer(error)) isBroken = true;
				throw isBroken ? withCode(error) : error;
			});
	}
	return { query, release: (destroy) => client.release(destroy === true || isBroken) };
}

/** As Kysely begins them. */
const TRANSACTION_START = /^(?:begin$|start transaction\b)/;

function hasNoAnswer(error: unknown): boolean {
	if (!(error instanceof Error)) return false;
	return error.message === NO_ANSWER || ("code" in error && error.code === CONNECTION_FAILURE);
}

function withCode(error: unknown): unknown {
	return error instanceof Error && !("code" in error)
		? Object.assign(error, { code: CONNECTION_FAILURE })
		: error;
}
