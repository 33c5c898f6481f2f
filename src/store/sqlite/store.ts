// The embedded store: a SQLite file in this process. WAL and synchronous=FULL: what was answered
// survives a power cut.

import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Driver, Kysely, SqliteAdapter, SqliteIntrospector, sql } from "kysely";
import type { Clock } from "../../ports.ts";
import { applyMigrations } from "../schema/migrations.ts";
import type { Schema } from "../schema/tables.ts";
import { DueListeners, type Store, type StoreSize } from "../store.ts";
import { BUSY_TIMEOUT_MS, SqliteDriver } from "./driver.ts";
import { isBusy } from "./errors.ts";
import { LocklessQueryCompiler } from "./query-compiler.ts";
import { createSqliteQueue } from "./queue.ts";
import { ReaderDriver, ReaderThread } from "./reader.ts";
import { createSqliteWrites } from "./writes.ts";

/** Time for which opening the file waits for another process, such as a command beside the service. */
const OPEN_TIMEOUT_MS = 5_000;

/**
 * How long the log grows before it is copied into the file: 16 MB. A batch of sales writes some pages of every shop, the
 * next batch the same ones again. With SQLite's own 1,000 each was copied after four batches, which cost a tenth of the
 * processor time of storing a sale.
 */
const CHECKPOINT_PAGES = 4_000;

/** Of processes that open a new file at once, each round lets one through. */
const WAL_TRIES = 20;
/** What `pragma auto_vacuum` says for it. */
const INCREMENTAL = 2;

/** `path` is a file, or ":memory:". The file's folder is created if it is missing. */
export function openSqlite(path: string, clock: StoreClock): Store {
	const isFile = path !== ":memory:";
	if (isFile) {
		mkdirSync(dirname(path), { recursive: true });
		// SQLite would create a file that everybody on the machine can read.
		closeSync(openSync(path, "a", 0o600));
	}
	const database = new DatabaseSync(path, { timeout: OPEN_TIMEOUT_MS });
	// Pages of removed rows can then be returned to the disk. This has an effect only before the first table is created.
	// Later it would only rewrite the file's header, which fails on a full disk.
	if (database.prepare("pragma page_count").get()?.["page_count"] === 0)
		database.exec("pragma auto_vacuum = incremental");
	switchToWal(database);
	return createSqliteStore(database, clock, isFile ? new ReaderThread(path, clock) : null);
}

/**
 * Opens a file for a caller that only reads. The connection is not read-only, because such a connection would leave the
 * files of the write-ahead log behind.
 */
export function openSqliteToRead(path: string): Store {
	const database = new DatabaseSync(path, { timeout: OPEN_TIMEOUT_MS });
	database.exec("pragma query_only = on");
	return createSqliteStore(database, WITHOUT_EVENT_LOOP);
}

type StoreClock = Pick<Clock, "yieldLoop">;

/** For a command that only reads and has nothing else to do while it waits. */
const WITHOUT_EVENT_LOOP: StoreClock = { yieldLoop: async () => undefined };

/** Creates a store over an open database, which closes with the store. Without a thread, all reads use this connection. */
export function createSqliteStore(
	database: DatabaseSync,
	clock: StoreClock,
	readerThread: ReaderThread | null = null,
): Store {
	database.exec(
		`pragma synchronous = full; pragma foreign_keys = on; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES};
			pragma busy_timeout = ${BUSY_TIMEOUT_MS}`,
	);
	const driver = new SqliteDriver(database, clock);
	const db = createDb(driver);
	const listeners = new DueListeners();
	const changes = new Set<(programmeId: number) => void>();
	return {
		kind: "sqlite",
		db,
		reader: readerThread === null ? db : createDb(new ReaderDriver(readerThread)),
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
		connections: () => ({ limit: 1, ...driver.usage }),
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
			// The last connection to close removes the write-ahead log, and a read-only one cannot.
			await readerThread?.close();
			await db.destroy();
			// Kysely does not destroy a driver that was never used.
			if (database.isOpen) database.close();
		},
	};
}

function createDb(driver: Driver): Kysely<Schema> {
	return new Kysely<Schema>({
		dialect: {
			createDriver: () => driver,
			createQueryCompiler: () => new LocklessQueryCompiler(),
			createAdapter: () => new SqliteAdapter(),
			createIntrospector: (kysely) => new SqliteIntrospector(kysely),
		},
	});
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
function switchToWal(database: DatabaseSync): void {
	for (let tried = 1; ; tried++) {
		try {
			database.exec("pragma journal_mode = wal");
			return;
		} catch (error) {
			if (!isBusy(error) || tried === WAL_TRIES) throw error;
			// For a transaction SQLite does wait.
			database.exec("begin immediate; commit");
		}
	}
}
