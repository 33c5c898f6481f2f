// A ready store for shops with PostgreSQL and `pg`: the tables for the outbox and for the durable receiver, and a
// transaction that is always committed or rolled back.

import type { PostbackEvent } from "../event.ts";
import { demand } from "../option-checks.ts";
import type { OutboxOptions } from "../outbox/create-outbox.ts";
import type { OutboxCall } from "../outbox/outbox-entry.ts";
import {
	type CallbackTable,
	nameTables,
	progressColumns,
	type RefusedCall,
	readEntry,
	readEvent,
	readRefused,
	type StoreOptions,
	type TableNames,
} from "./stored-row.ts";

/** The parts of `Pool` of `pg` that the store uses. */
export type PostgresPool<Connection extends PostgresConnection = PostgresConnection> = PostgresQueries & {
	connect(): Promise<Connection>;
	/** Number of connections. It distinguishes a pool from a single client. */
	readonly totalCount: number;
};

export type PostgresConnection = PostgresQueries & {
	/** Returns the connection to the pool, or closes it if `destroy` is true. */
	release(destroy?: boolean): unknown;
	on(event: "error", listener: (error: Error) => void): unknown;
};

export type PostgresQueries = {
	query(
		sql: string,
		values?: unknown[],
	): Promise<{ readonly rows: unknown[]; readonly rowCount?: number | null }>;
};

export type PostgresStore = {
	/** Writes a call to the outbox, in the transaction of the given connection. */
	add(connection: PostgresQueries, call: OutboxCall): Promise<void>;
	/** Returns up to `limit` refused calls, the oldest first. */
	refused(limit: number): Promise<RefusedCall[]>;
	/**
	 * Opens a refused call again, so that the outbox sends it. If the call had to be corrected, `call` replaces
	 * it. Returns false if there is no refused call with this id.
	 */
	sendAgain(id: number, call?: OutboxCall): Promise<boolean>;
	/** Options for `createOutbox`. */
	readonly outbox: Pick<OutboxOptions, "load" | "save">;
	/** Options for `createDurableReceiver`. */
	readonly callbacks: CallbackTable;
	/**
	 * Releases the lock, so that another process can send. Call it after `stop` of the outbox and before the
	 * pool is ended.
	 */
	close(): void;
};

const createTables = ({ outbox, callbacks, claims }: TableNames) => `
	CREATE TABLE IF NOT EXISTS ${outbox} (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, call text NOT NULL, state text NOT NULL DEFAULT 'open',
		attempts integer NOT NULL DEFAULT 0, due_at_ms bigint NOT NULL DEFAULT 0, detail text);
	CREATE INDEX IF NOT EXISTS ${outbox}_open ON ${outbox} (id) WHERE state = 'open';
	CREATE TABLE IF NOT EXISTS ${callbacks} (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, conversion_id text NOT NULL, event text NOT NULL,
		body text NOT NULL, done boolean NOT NULL DEFAULT false, UNIQUE (conversion_id, event));
	CREATE INDEX IF NOT EXISTS ${callbacks}_open ON ${callbacks} (id) WHERE NOT done;
	CREATE TABLE IF NOT EXISTS ${claims} (
		conversion_id text PRIMARY KEY, claimant text NOT NULL, until_at timestamptz NOT NULL)`;
/** The lock is needed because two processes that create a table at the same time would disturb each other. */
const lockSchema = "SELECT pg_advisory_xact_lock(hashtext('ringback_schema'))";
/** The key contains the table's own number, because shops in two schemas of one database must not block each other. */
const lockOutbox = ({ outbox }: TableNames) =>
	`SELECT pg_try_advisory_lock(hashtext('ringback_outbox'), hashtext('${outbox}'::regclass::oid::text)) AS held`;

/**
 * Creates the tables `ringback_outbox`, `ringback_callbacks` and `ringback_claims` if they are missing, and returns a
 * store over them. Several processes may use it. The outbox of one of them sends, and another takes over when that
 * process ends. The sending process keeps one connection of the pool for its lock.
 */
export async function openPostgresStore<Connection extends PostgresConnection>(
	pool: PostgresPool<Connection>,
	options: StoreOptions = {},
): Promise<PostgresStore> {
	const tables = nameTables(options);
	const { onAnswer } = options;
	await transaction(pool, async (connection) => {
		await connection.query(lockSchema);
		await connection.query(createTables(tables));
		// A process may have been killed before it released a claim that nobody needs any more.
		await connection.query(`DELETE FROM ${tables.claims} WHERE until_at <= clock_timestamp()`);
	});
	const lock = createLock(pool, lockOutbox(tables));
	return {
		async add(connection, call) {
			await connection.query(`INSERT INTO ${tables.outbox} (call) VALUES ($1)`, [JSON.stringify(call)]);
		},
		async refused(limit) {
			const { rows } = await pool.query(
				`SELECT id, call, detail FROM ${tables.outbox} WHERE state = 'refused' ORDER BY id LIMIT $1`,
				[limit],
			);
			return rows.map(readRefused);
		},
		async sendAgain(id, call) {
			const { rowCount } = await pool.query(
				`UPDATE ${tables.outbox} SET state = 'open', call = coalesce($2, call), attempts = 0, due_at_ms = 0
					WHERE id = $1 AND state = 'refused'`,
				[id, call === undefined ? null : JSON.stringify(call)],
			);
			return rowCount === 1;
		},
		outbox: {
			async load(afterId, limit) {
				if (!(await lock.isHeld())) return [];
				const { rows } = await pool.query(
					`SELECT id, call, attempts, due_at_ms FROM ${tables.outbox}
						WHERE state = 'open' AND id > $1 ORDER BY id LIMIT $2`,
					[afterId, limit],
				);
				return rows.map(readEntry);
			},
			async save(entry, progress) {
				if (progress.state === "done") await onAnswer?.(progress.conversion, progress.credit);
				await pool.query(
					`UPDATE ${tables.outbox} SET state = $1, attempts = $2, due_at_ms = $3, detail = $4 WHERE id = $5`,
					[...progressColumns(entry, progress), entry.id],
				);
			},
		},
		callbacks: createCallbackTable(pool, tables),
		close: lock.release,
	};
}

function createCallbackTable(pool: PostgresQueries, { callbacks, claims }: TableNames): CallbackTable {
	async function release(
		{ conversionId }: Pick<PostbackEvent, "conversionId">,
		claimant: string,
	): Promise<void> {
		await pool.query(`DELETE FROM ${claims} WHERE conversion_id = $1 AND claimant = $2`, [
			conversionId,
			claimant,
		]);
	}

	return {
		async insert(event) {
			const { rowCount } = await pool.query(
				`INSERT INTO ${callbacks} (conversion_id, event, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
				[event.conversionId, event.event, JSON.stringify(event)],
			);
			return rowCount === 1 ? "stored" : "seen";
		},
		async listOpen(limit) {
			const { rows } = await pool.query(`SELECT body FROM ${callbacks} WHERE NOT done ORDER BY id LIMIT $1`, [
				limit,
			]);
			return rows.map(readEvent);
		},
		async markDone(event) {
			await pool.query(`UPDATE ${callbacks} SET done = true WHERE conversion_id = $1 AND event = $2`, [
				event.conversionId,
				event.event,
			]);
		},
		// Claims end by the clock of the database, because the clocks of the processes may differ.
		async claim(event, claimant, forMs) {
			const { rowCount } = await pool.query(
				`INSERT INTO ${claims} AS held (conversion_id, claimant, until_at)
					VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
					ON CONFLICT (conversion_id) DO UPDATE SET claimant = excluded.claimant, until_at = excluded.until_at
						WHERE held.claimant = excluded.claimant OR held.until_at <= clock_timestamp()`,
				[event.conversionId, claimant, forMs],
			);
			if (rowCount !== 1) return "busy";
			// This query runs after the claim, so it sees the changes of the previous claimant.
			const { rows } = await pool.query(
				`SELECT 1 FROM ${callbacks} WHERE conversion_id = $1 AND event = $2 AND done`,
				[event.conversionId, event.event],
			);
			if (rows.length === 0) return "claimed";
			await release(event, claimant);
			return "done";
		},
		release,
	};
}

/**
 * Runs `work` in a transaction on a connection of its own, and returns its result. If `work` rejects, the transaction
 * is rolled back. Throws if it is given a connection instead of the pool, because the connection may already be inside
 * a transaction, which would be committed too early.
 */
export async function transaction<Connection extends PostgresConnection, Result>(
	pool: PostgresPool<Connection>,
	work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
	demand(
		typeof pool?.totalCount === "number" && typeof pool.connect === "function",
		"The database must be a Pool of pg. A single client may be inside another transaction.",
	);
	const connection = await pool.connect();
	let isBroken = true;
	try {
		await connection.query("BEGIN");
		try {
			const result = await work(connection);
			await connection.query("COMMIT");
			isBroken = false;
			return result;
		} catch (error) {
			// If the connection is lost, the rollback fails too, and the database rolls back by itself.
			isBroken = await connection.query("ROLLBACK").then(
				() => false,
				() => true,
			);
			throw error;
		}
	} finally {
		connection.release(isBroken);
	}
}

/** Creates the lock that decides which process sends. It lasts as long as its connection. */
function createLock(pool: Pick<PostgresPool, "connect">, lockOutbox: string) {
	let session: PostgresConnection | undefined;

	function release(): void {
		// PostgreSQL releases the lock when its connection closes.
		session?.release(true);
		session = undefined;
	}

	return {
		release,
		async isHeld(): Promise<boolean> {
			if (session === undefined) {
				session = await pool.connect();
				// The next query of a lost connection fails and reports the error.
				session.on("error", () => undefined);
			}
			try {
				const { rows } = await session.query(lockOutbox);
				return Object(rows[0])["held"] === true;
			} catch (error) {
				release();
				throw error;
			}
		},
	};
}
