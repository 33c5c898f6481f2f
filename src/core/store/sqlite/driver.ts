// A Kysely driver over node:sqlite with one connection, which one caller uses at a time. SQLite has one writer anyway.
// Callers wait in a queue here instead of inside SQLite, because waiting inside SQLite would block the event loop.

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";
import type { Clock } from "../../ports.ts";
import { isBusy } from "./errors.ts";
import { MAX_CACHED_STATEMENTS, toRecords } from "./rows.ts";

/** Time for which SQLite itself waits while another process writes to the file. It blocks the event loop meanwhile. */
export const BUSY_TIMEOUT_MS = 5;
/**
 * Maximum number of tries to get the write lock, which last about five seconds. After that the caller gets an error
 * that says that the database is unavailable.
 */
const MAX_TRIES = 1_000;

export class SqliteDriver implements Driver {
	readonly #database: DatabaseSync;
	readonly #connection: SqliteConnection;
	readonly #queue = new WaitingQueue();
	readonly #clock: Pick<Clock, "yieldLoop">;

	constructor(database: DatabaseSync, clock: Pick<Clock, "yieldLoop">) {
		this.#database = database;
		this.#connection = new SqliteConnection(database, clock);
		this.#clock = clock;
	}

	/** Numbers of callers that use the connection or wait for it. */
	get usage(): { inUse: number; idle: number; waiting: number } {
		return this.#queue.usage;
	}

	async init(): Promise<void> {
		// The database is opened before the driver is created, so that a wrong path fails before anything starts.
	}

	async acquireConnection(): Promise<DatabaseConnection> {
		await this.#queue.enter();
		return this.#connection;
	}

	async releaseConnection(): Promise<void> {
		this.#queue.leave();
	}

	async beginTransaction(): Promise<void> {
		// "Immediate" takes the write lock at once. Otherwise a transaction that reads first and writes later could fail
		// at a point where it cannot be retried, because another process has changed the file in between.
		await retryWhileBusy(this.#clock, () => this.#database.exec("begin immediate"));
	}

	async commitTransaction(): Promise<void> {
		this.#database.exec("commit");
	}

	async rollbackTransaction(): Promise<void> {
		// After a full disk or an I/O error SQLite has already rolled back by itself.
		if (this.#database.isTransaction) this.#database.exec("rollback");
	}

	async destroy(): Promise<void> {
		await this.#queue.enter();
		this.#database.close();
		// Callers that still wait get the closed connection, so that they fail instead of waiting forever.
		this.#queue.leave();
	}
}

interface Prepared {
	statement: StatementSync;
	/**
	 * Names of the columns, or an empty list if the statement returns no rows. They are cached, because reading the
	 * names costs as much as a small query.
	 */
	columns: readonly string[];
}

class SqliteConnection implements DatabaseConnection {
	readonly #database: DatabaseSync;
	readonly #clock: Pick<Clock, "yieldLoop">;
	readonly #prepared = new Map<string, Prepared>();

	constructor(database: DatabaseSync, clock: Pick<Clock, "yieldLoop">) {
		this.#database = database;
		this.#clock = clock;
	}

	async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
		// A statement inside a transaction is not repeated, because its transaction already has the write lock and
		// repeating would not be safe.
		if (this.#database.isTransaction) return this.#execute(query);
		return retryWhileBusy(this.#clock, () => this.#execute<Row>(query));
	}

	streamQuery(): never {
		throw new Error("streaming is not supported");
	}

	#execute<Row>(query: CompiledQuery): QueryResult<Row> {
		const { statement, columns } = this.#prepare(query.sql);
		// Kysely types parameters as unknown. Our code passes only values that SQLite can store.
		const parameters = query.parameters as SQLInputValue[];
		if (columns.length > 0) {
			const rows = statement.all(...parameters) as unknown as unknown[][];
			return { rows: toRecords(columns, rows) as Row[] };
		}
		const { changes, lastInsertRowid } = statement.run(...parameters);
		return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
	}

	#prepare(sqlText: string): Prepared {
		const existing = this.#prepared.get(sqlText);
		if (existing !== undefined) return existing;
		if (this.#prepared.size >= MAX_CACHED_STATEMENTS) this.#prepared.clear();
		const statement = this.#database.prepare(sqlText);
		statement.setReturnArrays(true);
		const prepared = { statement, columns: statement.columns().map(({ name }) => name) };
		this.#prepared.set(sqlText, prepared);
		return prepared;
	}
}

/** Repeats the work while another process holds the write lock. Between two tries, the event loop can do other work. */
async function retryWhileBusy<Value>(clock: Pick<Clock, "yieldLoop">, work: () => Value): Promise<Value> {
	for (let tries = 1; ; tries++) {
		try {
			return work();
		} catch (error) {
			if (!isBusy(error) || tries === MAX_TRIES) throw error;
			await clock.yieldLoop();
		}
	}
}

/** Queue that serves callers in the order of their arrival. */
class WaitingQueue {
	#isTaken = false;
	readonly #waiting: (() => void)[] = [];

	get usage(): { inUse: number; idle: number; waiting: number } {
		const inUse = this.#isTaken ? 1 : 0;
		return { inUse, idle: 1 - inUse, waiting: this.#waiting.length };
	}

	enter(): Promise<void> {
		if (!this.#isTaken) {
			this.#isTaken = true;
			return Promise.resolve();
		}
		return new Promise((resolve) => this.#waiting.push(resolve));
	}

	leave(): void {
		const next = this.#waiting.shift();
		if (next === undefined) this.#isTaken = false;
		else next();
	}
}
