// The store on PostgreSQL 14 or later, for any number of processes.

import { Kysely, PostgresDialect, type PostgresPool, sql } from "kysely";
import pg from "pg";
import type { Clock, Log } from "../../ports.ts";
import { rollBackRefusals } from "../refusals.ts";
import { createTransactionNumber } from "../schema/dialect.ts";
import type { Schema } from "../schema/tables.ts";
import {
	DueListeners,
	LOCK_WAITS_MS,
	type LockWaitMs,
	type Store,
	type StoreSize,
	UncertainWrite,
} from "../store.ts";
import { POSTGRES_BATCH } from "./batch.ts";
import { mayHaveCommitted, write } from "./batch-write.ts";
import { createDueChannel } from "./channel.ts";
import { acceptsWrites, openConnections, SERVER_TIMEOUTS, toKyselyPool } from "./connections.ts";
import { migratePostgres } from "./migrate.ts";
import { POSTGRES_QUEUE } from "./queue.ts";
import { chooseServer } from "./servers.ts";
import { hostsOf, type PostgresSetting } from "./setting.ts";

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Time limit of a query on our side. It is longer than the server's own limits. It ends queries on a connection that
 * has fallen silent, for example because a firewall dropped it. Such a query would otherwise block the engine or a
 * clean stop forever.
 */
const QUERY_TIMEOUT_MS = 17_000;

const INT8_OID = 20;

export interface PostgresDeps {
	clock: Clock;
	log: Log;
	/** Name under which the server lists our connections. An `application_name` in the URL takes precedence. */
	name: string;
}

export function openPostgres(setting: PostgresSetting, deps: PostgresDeps): Store {
	const { url, directUrl } = setting;
	const isPooled = directUrl !== null;
	const servers = chooseServer(hostsOf(url), deps.log);
	const directServers = directUrl === null ? servers : chooseServer(hostsOf(directUrl), deps.log);
	const connections = openConnections(
		{
			max: setting.poolSize,
			connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
			keepAlive: true,
			application_name: deps.name,
			query_timeout: QUERY_TIMEOUT_MS,
			...(isPooled ? {} : SERVER_TIMEOUTS),
			types: { getTypeParser: parserFor },
		},
		{ ...deps, servers },
	);
	const { preparesStatements } = setting;
	const poolWith = (lockWait: { lockWaitMs?: number }) =>
		toKyselyPool(connections, { preparesStatements, isPooled, ...lockWait });
	const openOver = (pool: PostgresPool) => new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
	const pool = poolWith({});
	const db = openOver(pool);
	/** Kysely instances whose transactions have shorter lock timeouts. They share the same connections. */
	const byLockWait = new Map<LockWaitMs, Kysely<Schema>>(
		LOCK_WAITS_MS.map((lockWaitMs) => [lockWaitMs, openOver(poolWith({ lockWaitMs }))]),
	);
	const listeners = new DueListeners();
	const changes = new Set<(programmeId: number | null) => void>();
	const channel = createDueChannel(directServers, listeners, deps, (name, payloads) =>
		sql`select pg_notify(${name}, payload) from unnest(${payloads}::text[]) as payload`.execute(db),
	);
	const transact: Store["transact"] = async (work, { maxLockWaitMs } = {}) => {
		const from = (maxLockWaitMs === undefined ? undefined : byLockWait.get(maxLockWaitMs)) ?? db;
		let isCommitting = false;
		try {
			return await rollBackRefusals(work, (refusable) =>
				from.transaction().execute(async (trx) => {
					const value = await refusable(trx);
					isCommitting = true;
					return value;
				}),
			);
		} catch (error) {
			// The commit may have succeeded although its answer is missing. In that case nobody was notified of the
			// deliveries that it made due.
			if (isCommitting) channel.announceRecheck(true);
			throw error;
		}
	};
	return {
		kind: "postgres",
		db,
		reader: db,
		migrate: async (nowMs, options = {}) => {
			await directServers.ready();
			return migratePostgres(
				{
					url: directServers.url(),
					types: { getTypeParser: parserFor },
					afterwards: raiseTransactionNumbers,
				},
				nowMs,
				options,
			);
		},
		transact,
		batch: POSTGRES_BATCH,
		writeAlone: async (rows, maxLockWaitMs) => {
			try {
				return await write(db, rows, maxLockWaitMs);
			} catch (error) {
				if (!mayHaveCommitted(error)) throw error;
				// The statement may have been committed, and then nobody was notified of the deliveries that it made due.
				channel.announceRecheck(true);
				throw new UncertainWrite(error);
			}
		},
		queue: POSTGRES_QUEUE,
		sharesSlots: true,
		moveOrder: {
			transaction: sql`moves.transaction`,
			endedBelow: sql`transaction_number(pg_snapshot_xmin(pg_current_snapshot()))`,
		},
		takeFreeRows: sql`for update skip locked`,
		forceIndexes,
		lookAlongIndexes: (look) =>
			db.transaction().execute(async (trx) => {
				await forceIndexes(trx);
				return look(trx);
			}),
		acceptsWrites: () => acceptsWrites(pool, connections),
		readTime: () => readTime(db),
		connections: () => {
			const { totalCount, idleCount: idle, waitingCount: waiting } = connections.pool;
			return { limit: setting.poolSize, inUse: totalCount - idle, idle, waiting };
		},
		measureSize: () => measureSize(db),
		giveBackSpace: async () => false,
		announceDue: (owed) => channel.announce(owed),
		announceChange: (programmeId) => {
			for (const hear of changes) hear(programmeId);
		},
		announceTargetChange: (receiverId) => channel.announceTargetChange(receiverId),
		announceRecheck: () => channel.announceRecheck(false),
		onChange: (listener) => void changes.add(listener),
		onDue: (listener) => {
			channel.startListening();
			return listeners.add(listener);
		},
		close: async () => {
			await channel.close();
			await db.destroy();
		},
	};
}

async function readTime(db: Kysely<Schema>): Promise<number> {
	// The time includes fractions of a millisecond, because the whole query takes less than half a millisecond.
	const { rows } = await sql<{ ms: number }>`
		select extract(epoch from clock_timestamp())::float8 * 1000 as ms`.execute(db);
	const [row] = rows;
	if (row === undefined) throw new Error("a select without a table always has a row");
	return row.ms;
}

/**
 * Maximum queue length that is counted row by row, which takes about ten milliseconds. The length of a longer queue is
 * the planner's estimate.
 */
const MAX_COUNTED_QUEUED = 100_000;

async function measureSize(db: Kysely<Schema>): Promise<StoreSize> {
	const { rows } = await sql<StoreSize & { seen: number }>`
		select pg_database_size(current_database()) as "databaseBytes",
			(select count(*) from (select 1 from queue limit ${sql.lit(MAX_COUNTED_QUEUED)}) few) as queued,
			(select reltuples::bigint from pg_class where oid = 'queue'::regclass) as seen`.execute(db);
	const [size] = rows;
	if (size === undefined) throw new Error("a select without a table always has a row");
	const { databaseBytes, queued, seen } = size;
	return { databaseBytes, queued: queued < MAX_COUNTED_QUEUED ? queued : Math.max(queued, seen) };
}

/**
 * Makes PostgreSQL use indexes until the transaction ends. The last argument of set_config limits a setting to the
 * transaction.
 */
async function forceIndexes(trx: Kysely<Schema>): Promise<void> {
	await sql`select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
		set_config('enable_sort', 'off', true)`.execute(trx);
}

/**
 * Raises the numbers of new transactions above those in `moves`. If the data comes from a dump of another cluster, or
 * from a SQLite file, its moves may have higher transaction numbers than this cluster has reached. Listeners would
 * then miss new moves, and later receive old ones again.
 */
export async function raiseTransactionNumbers(trx: Kysely<Schema>): Promise<void> {
	// The number of this transaction would be too low, because other transactions may have begun after it and stored
	// their moves before this query.
	const { rows } = await sql<{ newest: number | null; next: number }>`
		select max(transaction) as newest, transaction_number(pg_snapshot_xmax(pg_current_snapshot())) as next
		from moves`.execute(trx);
	for (const { newest, next } of rows) {
		if (newest !== null && newest >= next) await sql.raw(createTransactionNumber(newest)).execute(trx);
	}
}

/**
 * Returns the parser for a database type. It returns 64-bit integers as numbers, because ours are milliseconds and
 * row ids, far below 2^53.
 */
function parserFor(oid: number, format?: "text" | "binary"): (value: string) => unknown {
	if (oid === INT8_OID && format !== "binary") return Number;
	return pg.types.getTypeParser(oid, format === "binary" ? "text" : format);
}
