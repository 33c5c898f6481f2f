// A ready store for shops with SQLite: the tables for the outbox and for the durable receiver, and a transaction that
// is never left open. It works with node:sqlite, better-sqlite3 and other drivers whose calls are synchronous.

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

/** The parts of a database handle that the store uses. `DatabaseSync` of node:sqlite has them. */
export type SqliteDatabase = {
	exec(sql: string): unknown;
	prepare(sql: string): SqliteStatement;
	/** True while a transaction is open, in node:sqlite since Node 22.16. */
	readonly isTransaction?: boolean;
	/** True while a transaction is open, in better-sqlite3. */
	readonly inTransaction?: boolean;
};

export type SqliteStatement = {
	run(...values: (string | number | null)[]): { readonly changes: number | bigint };
	all(...values: (string | number | null)[]): unknown[];
};

export type SqliteStore = {
	/**
	 * Writes a call to the outbox, in the open transaction. If no transaction is open, the call is stored at
	 * once.
	 */
	add(call: OutboxCall): void;
	/** Returns up to `limit` refused calls, the oldest first. */
	refused(limit: number): RefusedCall[];
	/**
	 * Opens a refused call again, so that the outbox sends it. If the call had to be corrected, `call` replaces
	 * it. Returns false if there is no refused call with this id.
	 */
	sendAgain(id: number, call?: OutboxCall): boolean;
	/** Options for `createOutbox`. */
	readonly outbox: Pick<OutboxOptions, "load" | "save">;
	/** Options for `createDurableReceiver`. */
	readonly callbacks: CallbackTable;
};

const createTables = ({ outbox, callbacks, claims }: TableNames) => `
	CREATE TABLE IF NOT EXISTS ${outbox} (
		id INTEGER PRIMARY KEY AUTOINCREMENT, call TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'open',
		attempts INTEGER NOT NULL DEFAULT 0, due_at_ms INTEGER NOT NULL DEFAULT 0, detail TEXT);
	CREATE INDEX IF NOT EXISTS ${outbox}_open ON ${outbox} (id) WHERE state = 'open';
	CREATE TABLE IF NOT EXISTS ${callbacks} (
		id INTEGER PRIMARY KEY AUTOINCREMENT, conversion_id TEXT NOT NULL, event TEXT NOT NULL, body TEXT NOT NULL,
		done INTEGER NOT NULL DEFAULT 0, UNIQUE (conversion_id, event));
	CREATE INDEX IF NOT EXISTS ${callbacks}_open ON ${callbacks} (id) WHERE done = 0;
	CREATE TABLE IF NOT EXISTS ${claims} (
		conversion_id TEXT PRIMARY KEY, claimant TEXT NOT NULL, until_ms INTEGER NOT NULL)`;

const nested =
	"A transaction is already open on this database handle. Finish it with COMMIT or ROLLBACK first. " +
	"What is stored inside it would be lost if it is rolled back.";

/**
 * Creates the tables `ringback_outbox`, `ringback_callbacks` and `ringback_claims` if they are missing, and returns a
 * store over them. Throws if a transaction is open.
 */
export function openSqliteStore(database: SqliteDatabase, options: StoreOptions = {}): SqliteStore {
	const tables = nameTables(options);
	const { onAnswer } = options;
	transaction(database, () => {
		database.exec(createTables(tables));
		// A process may have been killed before it released a claim that nobody needs any more.
		database.prepare(`DELETE FROM ${tables.claims} WHERE until_ms <= ?`).run(Date.now());
	});
	const addCall = database.prepare(`INSERT INTO ${tables.outbox} (call) VALUES (?)`);
	const findCalls = database.prepare(
		`SELECT id, call, attempts, due_at_ms FROM ${tables.outbox} WHERE state = 'open' AND id > ? ORDER BY id LIMIT ?`,
	);
	const saveCall = database.prepare(
		`UPDATE ${tables.outbox} SET state = ?, attempts = ?, due_at_ms = ?, detail = ? WHERE id = ?`,
	);
	const findRefused = database.prepare(
		`SELECT id, call, detail FROM ${tables.outbox} WHERE state = 'refused' ORDER BY id LIMIT ?`,
	);
	const reopenCall = database.prepare(
		`UPDATE ${tables.outbox} SET state = 'open', call = coalesce(?, call), attempts = 0, due_at_ms = 0
			WHERE id = ? AND state = 'refused'`,
	);
	return {
		add(call) {
			addCall.run(JSON.stringify(call));
		},
		refused: (limit) => findRefused.all(limit).map(readRefused),
		sendAgain: (id, call) => {
			const { changes } = reopenCall.run(call === undefined ? null : JSON.stringify(call), id);
			return Number(changes) === 1;
		},
		outbox: {
			load: (afterId, limit) => findCalls.all(afterId, limit).map(readEntry),
			async save(entry, progress) {
				if (progress.state === "done") await onAnswer?.(progress.conversion, progress.credit);
				saveCall.run(...progressColumns(entry, progress), entry.id);
			},
		},
		callbacks: createCallbackTable(database, tables),
	};
}

function createCallbackTable(database: SqliteDatabase, { callbacks, claims }: TableNames): CallbackTable {
	const insertCallback = database.prepare(
		`INSERT OR IGNORE INTO ${callbacks} (conversion_id, event, body) VALUES (?, ?, ?)`,
	);
	const findOpen = database.prepare(`SELECT body FROM ${callbacks} WHERE done = 0 ORDER BY id LIMIT ?`);
	const findDone = database.prepare(
		`SELECT 1 FROM ${callbacks} WHERE conversion_id = ? AND event = ? AND done = 1`,
	);
	const markDone = database.prepare(`UPDATE ${callbacks} SET done = 1 WHERE conversion_id = ? AND event = ?`);
	const takeClaim = database.prepare(
		`INSERT INTO ${claims} AS held (conversion_id, claimant, until_ms) VALUES (?, ?, ?)
			ON CONFLICT (conversion_id) DO UPDATE SET claimant = excluded.claimant, until_ms = excluded.until_ms
				WHERE held.claimant = excluded.claimant OR held.until_ms <= ?`,
	);
	const deleteClaim = database.prepare(`DELETE FROM ${claims} WHERE conversion_id = ? AND claimant = ?`);
	// Each transaction is the receiver's own. If another one is open, the function throws, because the other transaction
	// may never be committed. A callback is then answered with 503, and work is tried again later.
	return {
		insert(event) {
			const values = [event.conversionId, event.event, JSON.stringify(event)];
			const { changes } = transaction(database, () => insertCallback.run(...values));
			return Number(changes) === 1 ? "stored" : "seen";
		},
		listOpen: (limit) => findOpen.all(limit).map(readEvent),
		markDone: (event) => markDone.run(event.conversionId, event.event),
		claim: ({ conversionId, event }, claimant, forMs) =>
			transaction(database, () => {
				if (findDone.all(conversionId, event).length > 0) return "done";
				const nowMs = Date.now();
				const { changes } = takeClaim.run(conversionId, claimant, nowMs + forMs, nowMs);
				return Number(changes) === 1 ? "claimed" : "busy";
			}),
		release: ({ conversionId }, claimant) =>
			transaction(database, () => deleteClaim.run(conversionId, claimant)),
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

/**
 * Throws if a transaction is open. If the driver has neither of the two properties, SQLite itself refuses the
 * BEGIN.
 */
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
