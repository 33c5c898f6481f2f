// The connections of one process to PostgreSQL. A server that stops answering, because it is frozen or the network drops
// packets, is treated like one that is stopped: all waiting queries fail. A slow statement looks the same to us, so a
// separate connection first sends the server a query that takes no time (the probe).
//
//   answering ─▶ no answer for half a second while queries wait ─▶ probing ─▶ silent: every query fails at once
//      ▲                                                              │                 │
//      └────────────────── the probe is answered ◀────────────────────┴── probing again ◀┘

import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import pg from "pg";
import type { Clock, Log } from "../../ports.ts";
import { isReadOnly } from "../unavailable.ts";
import { hotStatementName } from "./hot-statement.ts";
import type { Servers } from "./servers.ts";

/** SQLSTATE connection_failure. See unavailable.ts. */
const CONNECTION_FAILURE = "08006";

/**
 * Time without an answer after which the server is probed. Together with the probe, a silent server is detected
 * within three seconds. Callers then get their 503 within five seconds, however many statements their calls would
 * have needed.
 */
const PROBE_AFTER_MS = 500;
/**
 * Time limit for connecting, and again for the answer. Both are limited, because a pooler accepts connections even if
 * its server is down. A distant server needs a third of a second.
 */
const PROBE_TIMEOUT_MS = 2_000;

export interface PostgresConnections {
	/** Current connection pool. It is replaced when the server falls silent. */
	readonly pool: Pick<pg.Pool, "options" | "totalCount" | "idleCount" | "waitingCount">;
	/** Takes a connection from the pool. Rejects at once if the server is silent or falls silent meanwhile. */
	connect(): Promise<pg.PoolClient>;
	/** Runs a query. Rejects at once if the server is silent or falls silent meanwhile. */
	ask<Answer>(question: () => Promise<Answer>): Promise<Answer>;
	/** Looks for another server, because the present one refused a write. */
	leaveReadOnlyServer(): void;
	end(): Promise<void>;
}

export function openConnections(
	config: pg.PoolConfig,
	{ clock, log, servers }: { clock: Clock; log: Log; servers: Servers },
): PostgresConnections {
	let pool = openPool(config, log, servers);
	/** Functions that reject the promises of the waiting queries. */
	const waiting = new Set<(error: Error) => void>();
	let hasAnswered = false;
	let isSilent = false;
	let isWatching = false;
	let isEnded = false;
	let cancelPause = (): void => undefined;

	/**
	 * Starts an operation that fails if the server falls silent. If the operation ends after that, `onEnd` is still
	 * called, with `isLate` set to true.
	 */
	function failIfSilent<Value>(
		start: () => Promise<Value>,
		onEnd: (value: Value, isLate: boolean) => void,
	): Promise<Value> {
		if (isSilent) return Promise.reject(silence());
		const { promise, resolve, reject } = Promise.withResolvers<Value>();
		waiting.add(reject);
		if (!isWatching) void watch();
		start().then(
			(value) => {
				onEnd(value, !waiting.delete(reject));
				resolve(value);
			},
			(error: unknown) => {
				waiting.delete(reject);
				reject(error);
			},
		);
		return promise;
	}

	const mustWatch = (): boolean => !isEnded && (isSilent || waiting.size > 0);

	/** Watches the server while queries are waiting or the server is silent. Never rejects. */
	async function watch(): Promise<void> {
		isWatching = true;
		while (mustWatch()) {
			hasAnswered = false;
			await new Promise<void>((resolve) => {
				cancelPause = clock.after(PROBE_AFTER_MS, resolve);
			});
			if (hasAnswered || !mustWatch()) continue;
			// Another host may have become the primary since the present one fell silent.
			if (isSilent) await servers.lookAgain();
			const isAnswered = await probe(config, servers.url());
			// If this process was suspended, answers may still be waiting in its sockets. The pause gives the process time
			// to read them.
			await clock.yieldLoop();
			if (isAnswered && isSilent) endSilence();
			if (!isAnswered && !isSilent && !hasAnswered && mustWatch()) giveUp();
		}
		isWatching = false;
	}

	function endSilence(): void {
		isSilent = false;
		log.info({}, "the database answers again");
	}

	function giveUp(): void {
		isSilent = true;
		log.error({ waiting: waiting.size }, "the database does not answer; calls fail at once until it does");
		// The connections of the old pool may never answer again, so a new pool replaces it. `end` rejects only if the pool
		// has already ended.
		pool.end().catch(() => undefined);
		pool = openPool(config, log, servers);
		void servers.lookAgain();
		for (const fail of waiting) fail(silence());
		waiting.clear();
	}

	/**
	 * Connects to the server that accepts writes. If this server cannot be reached, looks for another host that accepts
	 * writes.
	 */
	async function connect(): Promise<pg.PoolClient> {
		await servers.ready();
		try {
			return await pool.connect();
		} catch (error) {
			if (!(await servers.lookAgain())) throw error;
			return pool.connect();
		}
	}

	return {
		get pool() {
			return pool;
		},
		leaveReadOnlyServer: () => void servers.lookAgain(),
		connect: () =>
			failIfSilent(connect, (client, isLate) => {
				if (isLate) client.release();
			}),
		ask: (question) =>
			failIfSilent(question, () => {
				hasAnswered = true;
			}),
		async end() {
			await pool.end();
			isEnded = true;
			cancelPause();
		},
	};
}

function openPool(config: pg.PoolConfig, log: Log, servers: Servers): pg.Pool {
	/** Client that connects to whichever server is chosen at that moment. */
	class ClientOfChosenServer extends pg.Client {
		constructor(settings: pg.ClientConfig = {}) {
			super({ ...settings, connectionString: servers.url() });
		}
	}
	const pool = new pg.Pool({ ...config, Client: ClientOfChosenServer });
	// An idle connection may break, for example because the server restarts. The next query then opens a new
	// connection. Without this listener, the error would end the process.
	pool.on("error", (error) =>
		log.warn({ code: errorCode(error) }, "a database connection broke; reconnecting"),
	);
	return pool;
}

/**
 * Returns whether the server answers. A refusal, for example because of too many connections, counts as an answer.
 * Never rejects.
 */
async function probe(config: pg.PoolConfig, url: string): Promise<boolean> {
	const client = new pg.Client({
		...config,
		connectionString: url,
		connectionTimeoutMillis: PROBE_TIMEOUT_MS,
		query_timeout: PROBE_TIMEOUT_MS,
	});
	// The waiting query fails with the same error. Without this listener, the error would also end the process.
	client.on("error", () => undefined);
	try {
		await client.connect();
		await client.query("select 1");
		return true;
	} catch (error) {
		return error instanceof pg.DatabaseError;
	} finally {
		// The result of `end` is not awaited, because a server that has just fallen silent would not answer.
		client.end().catch(() => undefined);
	}
}

function silence(): Error {
	return Object.assign(new Error("the database does not answer"), { code: CONNECTION_FAILURE });
}

function errorCode(error: Error): string {
	return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

// Adapts the connections to a pool for Kysely. If a connection breaks or falls silent, its query fails with an error
// code. The driver's own errors have no code, and the failure of the ROLLBACK that follows would hide the first
// error. Hot statements are sent under their names.

/** Message of the driver's error when its `query_timeout` has passed. The error has no code. */
const NO_ANSWER = "Query read timeout";

/**
 * Time limits on the server in milliseconds, so that the server also ends work for which nobody waits any more. They
 * are far longer than any query takes. The lock timeout is shorter than the statement timeout, so that a statement
 * that waits for a lock fails with the more precise error.
 */
export const SERVER_TIMEOUTS = {
	statement_timeout: 15_000,
	lock_timeout: 10_000,
	/** Ends the transaction of a process that has vanished, so that its locks do not outlive it for long. */
	idle_in_transaction_session_timeout: 15_000,
} as const;

/**
 * Returns the settings that are sent together with `begin`, in the same round trip. They are sent for each
 * transaction, because a pooler in transaction mode accepts no such parameters when a connection starts, and runs
 * each transaction in another session.
 */
function localTimeouts({ isPooled, lockWaitMs }: ConnectionOptions): readonly string[] {
	const timeouts = {
		...(isPooled ? SERVER_TIMEOUTS : {}),
		...(lockWaitMs === undefined ? {} : { lock_timeout: lockWaitMs }),
	};
	return Object.entries(timeouts).map(([name, ms]) => `set local ${name} = ${ms}`);
}

export interface ConnectionOptions {
	/** Whether hot statements are prepared by name, which PgBouncer before 1.21 does not support in transaction mode. */
	preparesStatements: boolean;
	isPooled: boolean;
	/** Time that transactions wait for a lock. The default is in SERVER_TIMEOUTS. */
	lockWaitMs?: number;
}

export function toKyselyPool(connections: PostgresConnections, options: ConnectionOptions): PostgresPool {
	// There is one wrapper for each connection, because Kysely compares connections by identity.
	const wrappers = new WeakMap<pg.PoolClient, PostgresPoolClient>();
	return {
		options: connections.pool.options,
		end: () => connections.end(),
		async connect() {
			// Errors of the server and of the system have a code. An error without a code means that the connection could
			// not be opened in time.
			const client = await connections.connect().catch((error: unknown) => {
				throw withCode(error);
			});
			const connection = wrappers.get(client) ?? watchConnection(connections, client, options);
			wrappers.set(client, connection);
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
	/**
	 * True if the server refused a write. The connection is then closed, because the address may now lead to another
	 * server.
	 */
	let isOfReadOnlyServer = false;
	// Without this listener an error of the connection would end the process.
	client.on("error", () => {
		isBroken = true;
	});
	function query<Row>(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<Row>>;
	function query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>;
	function query(text: string | object, parameters: readonly unknown[] = []): object {
		if (typeof text !== "string") throw new Error("no query of ours is read through a cursor");
		// A broken connection must send nothing more. Even a ROLLBACK would wait behind the statement that got no answer.
		if (isBroken) return Promise.reject(withCode(new Error("the connection to the database is lost")));
		const name = options.preparesStatements ? hotStatementName(text) : undefined;
		const sent = timeouts.length > 0 && TRANSACTION_START.test(text) ? [text, ...timeouts].join("; ") : text;
		const values = [...parameters];
		const statement = name === undefined ? { text: sent, values } : { name, text: sent, values };
		return connections
			.ask(() => client.query(statement))
			.catch((error: unknown) => {
				// Without an answer, the state of the server is unknown, so the connection cannot be used again.
				if (hasNoAnswer(error)) isBroken = true;
				if (isReadOnly(error)) {
					isOfReadOnlyServer = true;
					connections.leaveReadOnlyServer();
				}
				throw isBroken ? withCode(error) : error;
			});
	}
	return {
		query,
		release: (destroy) => client.release(destroy === true || isBroken || isOfReadOnlyServer),
	};
}

/**
 * Returns false if the server is a standby or was set to read-only. The connection to such a server is closed, because
 * after a failover the address may lead to another server.
 */
export async function acceptsWrites(pool: PostgresPool, connections: PostgresConnections): Promise<boolean> {
	const connection = await pool.connect();
	let isUsable = false;
	try {
		const { rows } = await connection.query<{ isReadOnly: boolean }>(
			`select current_setting('transaction_read_only')::bool as "isReadOnly" from schema_versions limit 1`,
			[],
		);
		isUsable = rows[0]?.isReadOnly === false;
		if (!isUsable) connections.leaveReadOnlyServer();
		return isUsable;
	} finally {
		connection.release(!isUsable);
	}
}

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
