// The embedded store: a SQLite file in this process. WAL and synchronous=FULL: what was answered
// survives a power cut.

import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Driver, Kysely, SqliteAdapter, SqliteIntrospector, sql } from "kysely";
import { applyMigrations } from "../schema/migrations.ts";
import type { Schema } from "../schema/tables.ts";
import { DueListeners, type Store, type StoreSize } from "../store.ts";
import { SqliteDriver } from "./driver.ts";
import { LocklessQueryCompiler } from "./query-compiler.ts";
import { createSqliteQueue } from "./queue.ts";
import { createSqliteWrites } from "./writes.ts";

/** How long another process (a command beside the service) may hold the file before we give up. */
const BUSY_TIMEOUT_MS = 5_000;

/**
 * How long the log grows before it is copied into the file: 16 MB. A batch of sales writes some pages of every shop, the
 * next batch the same ones again. With SQLite's own 1,000 each was copied after four batches, which cost a tenth of the
 * processor time of storing a sale.
 */
const CHECKPOINT_PAGES = 4_000;

/** Of processes that open a new file at once, each round lets one through. */
const WAL_TRIES = 20;
const SQLITE_BUSY = 5;
/** What `pragma auto_vacuum` says for it. */
const INCREMENTAL = 2;

/** `path` is a file, or ":memory:". Its folder is made when missing. */
export function openSqlite(path: string): Store {
	if (path !== ":memory:") {
		mkdirSync(dirname(path), { recursive: true });
		// Made before SQLite does, because it would let everybody on the machine read it.
		closeSync(openSync(path, "a", 0o600));
	}
	const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
	// Before anything is in the file, or it has no effect: removed rows then leave pages that can be given back. Later it
	// would only write the file's header again, which a full disk does not take.
	if (database.prepare("pragma page_count").get()?.["page_count"] === 0)
		database.exec("pragma auto_vacuum = incremental");
	turnToWal(database);
	return createSqliteStore(database);
}

/** For whoever only looks. Not read-only: such a connection leaves the files of the log behind. */
export function openSqliteToRead(path: string): Store {
	const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
	database.exec("pragma query_only = on");
	return createSqliteStore(database);
}

/** A store over a database that is open already; it closes with the store. */
export function createSqliteStore(database: DatabaseSync): Store {
	database.exec(
		`pragma synchronous = full; pragma foreign_keys = on; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
	);
	const driver = new SqliteDriver(database);
	const db = new Kysely<Schema>({
		dialect: {
			createDriver: (): Driver => driver,
			createQueryCompiler: () => new LocklessQueryCompiler(),
			createAdapter: () => new SqliteAdapter(),
			createIntrospector: (kysely) => new SqliteIntrospector(kysely),
		},
	});
	const listeners = new DueListeners();
	const changes = new Set<(programmeId: number) => void>();
	return {
		kind: "sqlite",
		db,
		// `begin immediate` is the lock: whoever comes second sees what the first has done, and goes on from there.
		migrate: (nowMs, options = {}) =>
			applyMigrations("sqlite", (work) => db.transaction().execute(work), nowMs, options),
		transact: (work) => db.transaction().execute(work),
		queue: createSqliteQueue(database),
		writes: createSqliteWrites(database),
		sharesSlots: false,
		// One writer at a time: whoever has a number ends before the next is given.
		moveOrder: { transaction: sql`moves.id`, endedBelow: sql`9223372036854775807` },
		// One writer at a time: no row is another's.
		takeFreeRows: sql``,
		keepToIndexes: async () => undefined,
		lookAlongIndexes: (look) => look(db),
		readTime: null,
		connections: () => ({ limit: 1, ...driver.line }),
		measureSize: () => measureSize(db),
		giveBackSpace: () => db.connection().execute(async () => giveBackPages(database)),
		// Engines of other processes look for themselves: see hasChangedElsewhere.
		announceDue: (owed) => void listeners.onOwed(owed),
		announceChange: (programmeId) => {
			for (const hear of changes) hear(programmeId);
			listeners.onChange(programmeId);
		},
		announceRecheck: () => undefined,
		onChange: (listener) => void changes.add(listener),
		onDue: (listener) => listeners.add(listener),
		close: async () => {
			await db.destroy();
			// Kysely does not destroy a driver that was never used.
			if (database.isOpen) database.close();
		},
	};
}

/** SQLite counts the pages of the smallest index without reading its entries: a million take some milliseconds. */
async function measureSize(db: Kysely<Schema>): Promise<StoreSize> {
	const { rows } = await sql<StoreSize>`
		select page_count * page_size as "databaseBytes", (select count(*) from queue) as queued
		from pragma_page_count(), pragma_page_size()`.execute(db);
	const [size] = rows;
	if (size === undefined) throw new Error("a pragma always has a row");
	return size;
}

/**
 * 5 ms on a busy machine, with the commit; 50 ms at worst, when SQLite copies its log into the file, as it does after
 * other writes too.
 */
const PAGES_A_STEP = 100;
/** Of the file: what comes next needs room too, and would only make the file grow again. */
const KEPT_FREE_SHARE = 0.05;

function giveBackPages(database: DatabaseSync): boolean {
	const isGivable = () => {
		const { freelist_count } = database.prepare("pragma freelist_count").get() ?? {};
		const { page_count } = database.prepare("pragma page_count").get() ?? {};
		return Number(freelist_count) - PAGES_A_STEP > Number(page_count) * KEPT_FREE_SHARE;
	};
	const { auto_vacuum: mode } = database.prepare("pragma auto_vacuum").get() ?? {};
	if (mode !== INCREMENTAL || !isGivable()) return false;
	// Not a prepared statement: that would give back one page and be done.
	database.exec(`pragma incremental_vacuum(${PAGES_A_STEP})`);
	if (isGivable()) return true;
	// Until the log is copied into the file, the file stays as it was.
	database.exec("pragma wal_checkpoint(passive)");
	return false;
}

/** Switching a new file to WAL needs an exclusive lock. SQLite does not wait for it, so we retry. */
function turnToWal(database: DatabaseSync): void {
	for (let tried = 1; ; tried++) {
		try {
			database.exec("pragma journal_mode = wal");
			return;
		} catch (error) {
			const isBusy = error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
			if (!isBusy || tried === WAL_TRIES) throw error;
			// For a transaction SQLite does wait.
			database.exec("begin immediate; commit");
		}
	}
}
