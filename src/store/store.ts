// The store as the rest of the house sees it: one Kysely for both databases, one way to run a
// transaction, the hot queue, and the word that something has become due.

import type { MigrationReport } from "./migrate.ts";
import type { Migration } from "./migrations.ts";
import type { Queue } from "./queue.ts";
import type { Db } from "./schema.ts";

export type { Db } from "./schema.ts";

export interface Store {
	db: Db;
	/** Brings the schema up to date; safe when several processes do it at once. */
	migrate(nowMs: number, migrations?: readonly Migration[]): Promise<MigrationReport>;
	/** All or nothing, durable once it resolves. */
	transact<Value>(work: (trx: Db) => Promise<Value>): Promise<Value>;
	queue: Queue;
	/** To be called after the commit that made deliveries due: wakes engines here and in other processes. */
	announceDue(programmeIds: readonly number[]): void;
	/** Returns how to stop listening. */
	onDue(listener: (programmeIds: readonly number[]) => void): () => void;
	close(): Promise<void>;
}

/** The in-process half of announceDue / onDue, shared by both drivers. */
export class DueListeners {
	readonly #listeners = new Set<(programmeIds: readonly number[]) => void>();

	add(listener: (programmeIds: readonly number[]) => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	get isEmpty(): boolean {
		return this.#listeners.size === 0;
	}

	tell(programmeIds: readonly number[]): void {
		for (const listener of this.#listeners) listener(programmeIds);
	}
}
