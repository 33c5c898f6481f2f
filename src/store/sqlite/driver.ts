// A Kysely driver over node:sqlite: one connection, one user of it at a time. SQLite has one writer
// anyway; waiting in line here, instead of inside SQLite, never blocks the event loop.

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";

/** Kysely compiles a handful of shapes per use case; far fewer than this are ever live. */
const MAX_CACHED_STATEMENTS = 500;

export class SqliteDriver implements Driver {
	readonly #database: DatabaseSync;
	readonly #connection: SqliteConnection;
	readonly #line = new WaitingLine();

	constructor(database: DatabaseSync) {
		this.#database = database;
		this.#connection = new SqliteConnection(database);
	}

	/** Who has the connection and who waits for it. */
	get line(): { inUse: number; idle: number; waiting: number } {
		return this.#line.figures;
	}

	async init(): Promise<void> {
		// The database is opened by whoever makes the driver, so that a wrong path fails before anything starts.
	}

	async acquireConnection(): Promise<DatabaseConnection> {
		await this.#line.enter();
		return this.#connection;
	}

	async releaseConnection(): Promise<void> {
		this.#line.leave();
	}

	async beginTransaction(): Promise<void> {
		// Immediate: a transaction that reads first and writes later could otherwise find the file changed
		// by another process in between, and fail where it cannot be retried.
		this.#database.exec("begin immediate");
	}

	async commitTransaction(): Promise<void> {
		this.#database.exec("commit");
	}

	async rollbackTransaction(): Promise<void> {
		// SQLite has already rolled back by itself after a full disk or an I/O error.
		if (this.#database.isTransaction) this.#database.exec("rollback");
	}

	async destroy(): Promise<void> {
		await this.#line.enter();
		this.#database.close();
		// Whoever still waits in line is let in to be told that it is closed, instead of waiting for ever.
		this.#line.leave();
	}
}

interface Prepared {
	statement: StatementSync;
	/** Asked once: for a wide table it costs as much as the query. */
	returnsRows: boolean;
}

class SqliteConnection implements DatabaseConnection {
	readonly #database: DatabaseSync;
	readonly #prepared = new Map<string, Prepared>();

	constructor(database: DatabaseSync) {
		this.#database = database;
	}

	async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
		const { statement, returnsRows } = this.#prepare(query.sql);
		// Kysely types parameters as unknown; what our code passes is what SQLite stores.
		const parameters = query.parameters as SQLInputValue[];
		if (returnsRows) return { rows: statement.all(...parameters) as Row[] };
		const { changes, lastInsertRowid } = statement.run(...parameters);
		return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
	}

	streamQuery(): never {
		throw new Error("no query of ours is read through a cursor");
	}

	#prepare(sqlText: string): Prepared {
		const known = this.#prepared.get(sqlText);
		if (known !== undefined) return known;
		if (this.#prepared.size >= MAX_CACHED_STATEMENTS) this.#prepared.clear();
		const statement = this.#database.prepare(sqlText);
		const prepared = { statement, returnsRows: statement.columns().length > 0 };
		this.#prepared.set(sqlText, prepared);
		return prepared;
	}
}

/** First come, first served. */
class WaitingLine {
	#isTaken = false;
	readonly #waiting: (() => void)[] = [];

	get figures(): { inUse: number; idle: number; waiting: number } {
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
