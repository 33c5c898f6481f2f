// The connections of one process to PostgreSQL. A server that says nothing any more, because it is frozen or nothing gets
// through to it, counts as away like one that is stopped: what waits for it fails. A slow statement looks the same from
// here, so before that the server is asked something that takes no time, over a connection of its own.
//
//   answers ─▶ nothing comes for half a second, while something is asked ─▶ probed ─▶ silent: whatever is asked fails
//      ▲                                                                      │                 │
//      └────────────────────── the probe is answered ◀────────────────────────┴── probed again ◀┘

import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import pg from "pg";
import type { Clock, Log } from "../../ports.ts";
import { hotStatementName } from "../hot-statement.ts";

/** SQLSTATE connection_failure: see unavailable.ts. */
const CONNECTION_FAILURE = "08006";

/**
 * Together with the probe it is known within three seconds that a server is silent, so that callers have their 503 within
 * five, however many statements and turns their calls would have taken.
 */
const LISTEN_MS = 500;
/** For connecting, and again for the answer: a pooler connects by itself. A server far away takes a third of a second. */
const PROBE_TIMEOUT_MS = 2_000;

export interface PostgresConnections {
	/** Those in use now: a silent server's are given up, and others made once it answers. */
	readonly pool: Pick<pg.Pool, "options" | "totalCount" | "idleCount" | "waitingCount">;
	/** Fails at once while the server is silent, and when it falls silent. */
	connect(): Promise<pg.PoolClient>;
	/** The same for what is asked over a connection. */
	ask<Answer>(question: () => Promise<Answer>): Promise<Answer>;
	end(): Promise<void>;
}

export function openConnections(
	config: pg.PoolConfig,
	{ clock, log }: { clock: Clock; log: Log },
): PostgresConnections {
	let pool = openPool(config, log);
	/** How to fail what is asked. */
	const waiting = new Set<(error: Error) => void>();
	let wasHeard = false;
	let isSilent = false;
	let isWatching = false;
	let isEnded = false;
	let cancelPause = (): void => undefined;

	/** `onEnd` also hears of what came too late. */
	function whileHeard<Value>(
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

	const isInDoubt = (): boolean => !isEnded && (isSilent || waiting.size > 0);

	/** Never rejects. */
	async function watch(): Promise<void> {
		isWatching = true;
		while (isInDoubt()) {
			wasHeard = false;
			await new Promise<void>((resolve) => {
				cancelPause = clock.after(LISTEN_MS, resolve);
			});
			if (wasHeard || !isInDoubt()) continue;
			const isAnswered = await probe(config);
			// If it was this process that stood still, what has come meanwhile is read now.
			await clock.yieldLoop();
			if (isAnswered && isSilent) hearAgain();
			if (!isAnswered && !isSilent && !wasHeard && isInDoubt()) giveUp();
		}
		isWatching = false;
	}

	function hearAgain(): void {
		isSilent = false;
		log.info({}, "the database answers again");
	}

	function giveUp(): void {
		isSilent = true;
		log.error({ waiting: waiting.size }, "the database does not answer: calls fail at once until it does");
		// In the old pool the next would wait behind connections that may never be heard of again. Its end fails only if it
		// has ended before.
		pool.end().catch(() => undefined);
		pool = openPool(config, log);
		for (const fail of waiting) fail(silence());
		waiting.clear();
	}

	return {
		get pool() {
			return pool;
		},
		connect: () =>
			whileHeard(
				() => pool.connect(),
				(client, isLate) => {
					if (isLate) client.release();
				},
			),
		ask: (question) =>
			whileHeard(question, () => {
				wasHeard = true;
			}),
		async end() {
			await pool.end();
			isEnded = true;
			cancelPause();
		},
	};
}

function openPool(config: pg.PoolConfig, log: Log): pg.Pool {
	const pool = new pg.Pool(config);
	// An idle connection that breaks (the server restarts) is replaced at the next query; without a listener
	// it would end the process.
	pool.on("error", (error) =>
		log.warn({ code: errorCode(error) }, "a database connection broke; reconnecting"),
	);
	return pool;
}

/** Whether the server has anything to say; that it takes no more connections is an answer, too. Never rejects. */
async function probe(config: pg.PoolConfig): Promise<boolean> {
	const client = new pg.Client({
		...config,
		connectionTimeoutMillis: PROBE_TIMEOUT_MS,
		query_timeout: PROBE_TIMEOUT_MS,
	});
	// A connection that breaks fails what is asked over it; without a listener it would end the process.
	client.on("error", () => undefined);
	try {
		await client.connect();
		await client.query("select 1");
		return true;
	} catch (error) {
		return error instanceof pg.DatabaseError;
	} finally {
		// Not waited for: a server that falls silent now would not answer it.
		client.end().catch(() => undefined);
	}
}

function silence(): Error {
	return Object.assign(new Error("the database does not answer"), { code: CONNECTION_FAILURE });
}

function errorCode(error: Error): string {
	return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

// The connections to PostgreSQL, as Kysely uses them. A connection that breaks or falls silent fails its queries with
// a code that says so: the driver's own errors have none, and the ROLLBACK that then fails hides the first one. Hot
// statements are sent under their names.

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
