// Interface of the store: one Kysely for both databases, one way to run a transaction, the queue, and the
// notification that deliveries are due.

import type { RawBuilder } from "kysely";
import type { ReceiverId } from "../domain/receiver.ts";
import type { BatchRows, BatchStore, Written } from "./batch.ts";
import type { Owed, Queue } from "./queries/queue.ts";
import type { MigrateOptions, MigrationReport } from "./schema/migrations.ts";
import type { Db } from "./schema/tables.ts";

export type { Db } from "./schema/tables.ts";

export interface Store {
	/** Kind of database, for code that needs different SQL on each. */
	kind: "sqlite" | "postgres";
	db: Db;
	/**
	 * Runs lists, searches, sums and exports. For a SQLite file, `reader` is a thread with a read-only connection, so
	 * that these reads do not block the event loop. Otherwise it equals `db`. It sees everything that was committed
	 * before the query, and has no transactions.
	 */
	reader: Db;
	/** Migrates the schema. Several processes may call it at once, and it continues after an interruption. */
	migrate(nowMs: number, options?: MigrateOptions): Promise<MigrationReport>;
	/**
	 * Runs a transaction, which is durable when the promise resolves. It is rolled back if the work throws or returns a
	 * refusal, unless `commitRefusal` marks the refusal.
	 */
	transact<Value>(work: (trx: Db) => Promise<Value>, options?: TransactOptions): Promise<Value>;
	batch: BatchStore;
	/**
	 * Writes a batch by one statement that commits by itself. The batch must change no stored conversion, because the
	 * statement locks none. Rejects with an UncertainWrite if the rows may have been stored. Null on SQLite, where a
	 * statement needs no round trip.
	 */
	writeAlone: ((rows: Partial<BatchRows>, maxLockWaitMs: LockWaitMs) => Promise<Written>) | null;
	queue: Queue;
	/**
	 * Whether several engines share the slots. On a SQLite file, one engine owns all slots and the other engines wait.
	 */
	sharesSlots: boolean;
	moveOrder: MoveOrder;
	/**
	 * Clause after a select in a transaction (FOR UPDATE SKIP LOCKED). It locks the rows until the transaction ends and
	 * skips rows that another transaction has locked, so that processes share work without waiting for each other.
	 */
	takeFreeRows: RawBuilder<unknown>;
	/**
	 * Makes every query use an index, in the index's order, until the transaction ends. It is for work that takes a few
	 * rows from one end of a large table. If the table's statistics are old or missing, PostgreSQL would otherwise read
	 * and sort the whole table for each batch. On SQLite this does nothing.
	 */
	forceIndexes(trx: Db): Promise<void>;
	/**
	 * Runs queries that must use an index, as `forceIndexes` does, but outside a transaction and therefore without
	 * SQLite's write lock.
	 */
	lookAlongIndexes<Value>(look: (db: Db) => Promise<Value>): Promise<Value>;
	/**
	 * Returns some free space of the file to the disk. One step is short enough for callers to wait for it. Returns
	 * false if no more space can be returned. PostgreSQL reuses free space by itself.
	 */
	giveBackSpace(): Promise<boolean>;
	/**
	 * Returns false if the database answers but refuses writes, such as a PostgreSQL standby. Rejects if the database
	 * does not answer. The check itself writes nothing.
	 */
	acceptsWrites(): Promise<boolean>;
	/** Reads the database's clock. Null on SQLite, which uses the machine's clock. */
	readTime: (() => Promise<number>) | null;
	/** Returns how many connections of this process are in use at this moment. No query is needed. */
	connections(): Connections;
	/** Measures the database's size and the length of the queue. A very long queue is estimated and not counted. */
	measureSize(): Promise<StoreSize>;
	/**
	 * Notifies the engine that owns the receivers' slots, in this or another process. It must be called after the
	 * commit that made the deliveries due.
	 */
	announceDue(owed: Owed): void;
	/**
	 * Makes the caches of this process reload programmes, keys, secrets and API tokens. It must be called after the
	 * commit that changed one of them, with null for an API token. The caches of other processes expire within a
	 * second.
	 */
	announceChange(programmeId: number | null): void;
	/**
	 * Makes the engines of all processes reload the receiver's URL and secret. It must be called after the commit that
	 * changed one of them. Engines know only receivers, so this is separate from `announceChange`.
	 */
	announceTargetChange(receiverId: ReceiverId): void;
	/** Makes the engines of other processes check their slots and their part of the queue. */
	announceRecheck(): void;
	/** Registers a listener for every `announceChange` of this process. */
	onChange(listener: (programmeId: number | null) => void): void;
	/** Registers an engine. Returns a function that removes it. */
	onDue(listener: DueListener): () => void;
	close(): Promise<void>;
}

/**
 * Thrown if the database's answer to a write is missing, so that the rows may or may not be stored. The cause is the
 * driver's error.
 */
export class UncertainWrite extends Error {
	constructor(cause: unknown) {
		super("a write was not answered", { cause });
	}
}

export interface Connections {
	limit: number;
	inUse: number;
	idle: number;
	waiting: number;
}

export interface StoreSize {
	databaseBytes: number;
	/** Number of deliveries in the queue, due or not. It is an estimate if the queue is very long. */
	queued: number;
}

/** Lock timeouts that a transaction can choose. */
export const LOCK_WAITS_MS = [1_000, 250] as const;
export type LockWaitMs = (typeof LOCK_WAITS_MS)[number];

export interface TransactOptions {
	/**
	 * Time that the transaction waits for a row lock. The default is the limit of a statement. SQLite has no row locks.
	 */
	maxLockWaitMs?: LockWaitMs;
}

/** Order in which listeners receive moves. See queries/announced-moves.ts. */
export interface MoveOrder {
	/**
	 * SQL for a transaction number of a row of `moves`. It is the number of the transaction that wrote the row, or of a
	 * later one, and never lower than the number of an earlier move of the same conversion.
	 */
	transaction: RawBuilder<number>;
	/** SQL for the number below which all transactions have ended. */
	endedBelow: RawBuilder<number>;
}

/** Receives notifications for an engine of this process. */
export interface DueListener {
	/**
	 * Handles deliveries that became due. Returns the receivers to which an engine of another process may have to send.
	 */
	onOwed(owed: Owed): readonly ReceiverId[];
	/** Handles a notification that the receiver's URL or secret may have changed. */
	onTargetChange(receiverId: ReceiverId): void;
	/** Handles a hint that deliveries may have become due, or that slots may be free. The hint does not name them. */
	onRecheck(): void;
}

/** Passes notifications to the engines of this process. Both drivers use it. */
export class DueListeners implements DueListener {
	readonly #listeners = new Set<DueListener>();

	add(listener: DueListener): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	onOwed(owed: Owed): readonly ReceiverId[] {
		let left = owed.receiverIds;
		if (left.length === 0) return left;
		for (const listener of this.#listeners) {
			const elsewhere = new Set(listener.onOwed(owed));
			left = left.filter((id) => elsewhere.has(id));
		}
		return left;
	}

	onTargetChange(receiverId: ReceiverId): void {
		for (const listener of this.#listeners) listener.onTargetChange(receiverId);
	}

	onRecheck(): void {
		for (const listener of this.#listeners) listener.onRecheck();
	}
}
