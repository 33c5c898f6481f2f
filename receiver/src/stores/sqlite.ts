// A ready store for shops with SQLite: the tables for the outbox and for the durable receiver, and a transaction that
// is never left open. It works with node:sqlite, better-sqlite3 and other drivers whose calls are synchronous.

import type { DurableReceiverOptions } from "../durable/create-durable-receiver.ts";
import { demand } from "../option-checks.ts";
import type { OutboxOptions } from "../outbox/create-outbox.ts";
import type { OutboxCall } from "../outbox/outbox-entry.ts";
import { progressColumns, readEntry, readEvent, type StoreOptions } from "./stored-row.ts";

/** The parts of a database handle that the store uses. `DatabaseSync` of node:sqlite has them. */
export type SqliteDatabase = {
	exec(sql: string): unknown;
	prepare(sql: string): SqliteStatement;
	/** True while a transaction is open, in node:sqlite since Node 22.16. */
	readonly isTransaction?: boolean;
	/** The same in better-sqlite3. */
	readonly inTransaction?: boolean;
};

export type SqliteStatement = {
	run(...values: (string | number | null)[]): { readonly changes: number | bigint };
	all(...values: (string | number | null)[]): unknown[];
};

export type SqliteStore = {
	/** Writes a call to the outbox, in the transaction that is open. Without one it is stored at once. */
	add(call: OutboxCall): void;
	/** Options for `createOutbox`. */
	readonly outbox: Pick<OutboxOptions, "load" | "save">;
	/** Options for `createDurableReceiver`. */
	readonly callbacks: Pick<DurableReceiverOptions, "insert" | "listOpen" | "markDone">;
};

const schema = `
	CREATE TABLE IF NOT EXISTS ringback_outbox (
		id INTEGER PRIMARY KEY AUTOINCREMENT, call TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'open',
		attempts INTEGER NOT NULL DEFAULT 0, due_at_ms INTEGER NOT NULL DEFAULT 0, detail TEXT);
	CREATE INDEX IF NOT EXISTS ringback_outbox_open ON ringback_outbox (id) WHERE state = 'open';
	CREATE TABLE IF NOT EXISTS ringback_callbacks (
		id INTEGER PRIMARY KEY AUTOINCREMENT, conversion_id TEXT NOT NULL, event TEXT NOT NULL, body TEXT NOT NULL,
		done INTEGER NOT NULL DEFAULT 0, UNIQUE (conversion_id, event));
	CREATE INDEX IF NOT EXISTS ringback_callbacks_open ON ringback_callbacks (id) WHERE done = 0`;

const nested =
	"A transaction is already open on this database handle. Finish it with COMMIT or ROLLBACK first. " +
	"What is stored inside it would be lost if it is rolled back.";

/**
 * Creates the tables `ringback_outbox` and `ringback_callbacks` if they are missing, and returns a store over them.
 * Throws if a transaction is open.
 */
export function openSqliteStore(database: SqliteDatabase, { onAnswer }: StoreOptions = {}): SqliteStore {
	transaction(database, () => database.exec(schema));
	const addCall = database.prepare("INSERT INTO ringback_outbox (call) VALUES (?)");
	const findCalls = database.prepare(
		"SELECT id, call, attempts, due_at_ms FROM ringback_outbox WHERE state = 'open' AND id > ? ORDER BY id LIMIT ?",
	);
	const saveCall = database.prepare(
		"UPDATE ringback_outbox SET state = ?, attempts = ?, due_at_ms = ?, detail = ? WHERE id = ?",
	);
	const insertCallback = database.prepare(
		"INSERT OR IGNORE INTO ringback_callbacks (conversion_id, event, body) VALUES (?, ?, ?)",
	);
	const findCallbacks = database.prepare(
		"SELECT body FROM ringback_callbacks WHERE done = 0 ORDER BY id LIMIT ?",
	);
	const markDone = database.prepare(
		"UPDATE ringback_callbacks SET done = 1 WHERE conversion_id = ? AND event = ?",
	);
	return {
		add(call) {
			addCall.run(JSON.stringify(call));
		},
		outbox: {
			load: (afterId, limit) => findCalls.all(afterId, limit).map(readEntry),
			async save(entry, progress) {
				if (progress.state === "done") await onAnswer?.(progress.conversion, progress.credit);
				saveCall.run(...progressColumns(entry, progress), entry.id);
			},
		},
		callbacks: {
			// The transaction is the callback's own. If another one is open, the insertion throws and the callback is
			// answered with 503, because the other transaction may never be committed.
			insert(event) {
				const values = [event.conversionId, event.event, JSON.stringify(event)];
				const { changes } = transaction(database, () => insertCallback.run(...values));
				return Number(changes) === 1 ? "stored" : "seen";
			},
			listOpen: (limit) => findCallbacks.all(limit).map(readEvent),
			markDone: (event) => markDone.run(event.conversionId, event.event),
		},
	};
}

/**
 * Runs `work` in a transaction and returns its result. If `work` throws, the transaction is rolled back and the error
 * is thrown again. Throws if a transaction is already open, or if `work` is asynchronous, because other requests use
 * the same handle and their statements would become part of this transaction.
 */
export function transaction<Result>(database: SqliteDatabase, work: () => Result): Result {
	demandNone(database);
	database.exec("BEGIN IMMEDIATE");
	try {
		const result = work();
		demand(!isPromise(result), "work must not be asynchronous, because the transaction would stay open.");
		database.exec("COMMIT");
		return result;
	} catch (error) {
		rollBack(database);
		throw error;
	}
}

/** Throws if a transaction is open. For a driver that has neither property, SQLite itself refuses the BEGIN. */
function demandNone({ isTransaction, inTransaction }: SqliteDatabase): void {
	if (isTransaction === true || inTransaction === true) throw new Error(nested);
}

function rollBack(database: SqliteDatabase): void {
	try {
		database.exec("ROLLBACK");
	} catch {
		// After some errors, such as a full disk, SQLite has already rolled back by itself. The caller throws the
		// first error, which is the reason.
	}
}

function isPromise(value: unknown): boolean {
	return typeof Object(value).then === "function";
}
