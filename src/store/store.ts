// The store as the rest of the house sees it: one Kysely for both databases, one way to run a
// transaction, the hot queue, and the word that something has become due.

import type { RawBuilder } from "kysely";
import type { HotWrites } from "./hot-writes.ts";
import type { Owed, Queue } from "./queries/queue.ts";
import type { MigrateOptions, MigrationReport } from "./schema/migrations.ts";
import type { Db } from "./schema/tables.ts";

export type { Db } from "./schema/tables.ts";

export interface Store {
	/** For libraries that bring their own queries and have to know. */
	kind: "sqlite" | "postgres";
	db: Db;
	/**
	 * Runs lists, searches, sums and exports. On a SQLite file it is a thread with a read-only connection, so that these reads
	 * do not block the event loop; otherwise it is `db`. It sees everything that was committed before, and has no transactions.
	 */
	reader: Db;
	/** Brings the schema up to date; safe when several processes do it at once, and after one that was broken off. */
	migrate(nowMs: number, options?: MigrateOptions): Promise<MigrationReport>;
	/** All or nothing, durable once it resolves. */
	transact<Value>(work: (trx: Db) => Promise<Value>, options?: TransactOptions): Promise<Value>;
	queue: Queue;
	writes: HotWrites;
	/** Whether engines share the slots; on one SQLite file a single engine has all of them, and others wait their turn. */
	sharesSlots: boolean;
	moveOrder: MoveOrder;
	/**
	 * Put behind a select inside a transaction: the rows it reads are this transaction's until it ends, and those that are
	 * another's are passed over. So any number of processes share a pile of work and none waits for the others.
	 */
	takeFreeRows: RawBuilder<unknown>;
	/**
	 * Until the transaction ends, every table is read along an index, in the index's order. For work that takes a few rows
	 * from one end of a large pile: PostgreSQL guesses from statistics how large the pile is, and where they are old or
	 * missing it reads and sorts all of it for each batch. SQLite does not guess.
	 */
	keepToIndexes(trx: Db): Promise<void>;
	/** A look at such a pile: in the same way, and without the lock that a transaction takes on SQLite. */
	lookAlongIndexes<Value>(look: (db: Db) => Promise<Value>): Promise<Value>;
	/**
	 * A step of giving room that removed rows have left back to the disk, short enough to stand between two callers. False
	 * when there is nothing more to give. PostgreSQL uses such room again by itself.
	 */
	giveBackSpace(): Promise<boolean>;
	/** The database's own clock; null on SQLite, where there is only the machine's. */
	readTime: (() => Promise<number>) | null;
	/** At this moment, of this process; asks nobody. */
	connections(): Connections;
	/** Reads no more of a large table than counting takes, and of a very large one not even that. */
	measureSize(): Promise<StoreSize>;
	/** To be called after the commit that made deliveries due: tells the engine that owns their slots, here or elsewhere. */
	announceDue(owed: Owed): void;
	/**
	 * To be called after the commit that changed a programme, its URL, a secret or a key: whoever knows them must read
	 * them again before they are used any more.
	 */
	announceChange(programmeId: number): void;
	/** Tells the engines of other processes to look for themselves: at the slots, and at their part of the queue. */
	announceRecheck(): void;
	/** Told of every announceChange of this process, at once. */
	onChange(listener: (programmeId: number) => void): void;
	/** Returns how to stop listening. */
	onDue(listener: DueListener): () => void;
	close(): Promise<void>;
}

export interface Connections {
	/** As many as there may be at once. */
	limit: number;
	inUse: number;
	idle: number;
	/** Who waits for one to be free. */
	waiting: number;
}

export interface StoreSize {
	/** Everything the database keeps, indexes included. */
	databaseBytes: number;
	/** Deliveries in the queue, due or not; estimated where there are very many. */
	queued: number;
}

/** PostgreSQL has connections ready for each. */
export const LOCK_WAITS_MS = [1_000, 250] as const;
export type LockWaitMs = (typeof LOCK_WAITS_MS)[number];

export interface TransactOptions {
	/**
	 * For how long it waits for a row that somebody else holds; as long as any statement may unless told. On SQLite nobody
	 * holds rows.
	 */
	maxLockWaitMs?: LockWaitMs;
}

/** The order in which listeners are told of moves: see announced-moves. */
export interface MoveOrder {
	/**
	 * Of a row of `moves`: the number of the transaction that wrote it, or a later one. Never lower than that of an
	 * earlier move of the same conversion.
	 */
	transaction: RawBuilder<number>;
	/** All transactions with a lower number have ended. */
	endedBelow: RawBuilder<number>;
}

/** An engine of this process. */
export interface DueListener {
	/** Answers with the programmes that an engine of another process may have to send to. */
	onOwed(owed: Owed): readonly number[];
	/** The URL or the secret of this programme may have changed. */
	onChange(programmeId: number): void;
	/** Something may have become due, or a slot free, that nobody could name. */
	onRecheck(): void;
}

/** The in-process half of announceDue / onDue, shared by both drivers. */
export class DueListeners implements DueListener {
	readonly #listeners = new Set<DueListener>();

	add(listener: DueListener): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	onOwed(owed: Owed): readonly number[] {
		let left = owed.programmeIds;
		if (left.length === 0) return left;
		for (const listener of this.#listeners) {
			const elsewhere = new Set(listener.onOwed(owed));
			left = left.filter((id) => elsewhere.has(id));
		}
		return left;
	}

	onChange(programmeId: number): void {
		for (const listener of this.#listeners) listener.onChange(programmeId);
	}

	onRecheck(): void {
		for (const listener of this.#listeners) listener.onRecheck();
	}
}
