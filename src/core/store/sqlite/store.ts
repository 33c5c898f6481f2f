// The embedded store is a SQLite file that this process opens. With WAL and synchronous=FULL, a write that was answered
// survives a power failure.

import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Driver, Kysely, SqliteAdapter, SqliteIntrospector, sql } from "kysely";
import type { Clock } from "../../ports.ts";
import { rollBackRefusals } from "../refusals.ts";
import { applyMigrations } from "../schema/migrations.ts";
import type { Schema } from "../schema/tables.ts";
import { DueListeners, type Store, type StoreSize } from "../store.ts";
import { createSqliteBatch } from "./batch.ts";
import { BUSY_TIMEOUT_MS, SqliteDriver } from "./driver.ts";
import { createEngineLock, type EngineLock } from "./engine-lock.ts";
import { isBusy } from "./errors.ts";
import { LocklessQueryCompiler } from "./query-compiler.ts";
import { createSqliteQueue } from "./queue.ts";
import { ReaderDriver, ReaderThread } from "./reader.ts";

/** Time for which opening the file waits for another process, for example a command that runs beside the service. */
const OPEN_TIMEOUT_MS = 5_000;

/**
 * Number of pages in the write-ahead log at which SQLite copies the log into the file, which is 16 MB. Batches of sales
 * write the same pages again and again. With SQLite's default of 1,000 pages the log was copied after every four
 * batches, which cost a tenth of the processor time of storing a sale.
 */
const CHECKPOINT_PAGES = 4_000;

/**
 * Maximum number of tries to switch a new file to WAL. If several processes open the file at once, one of them
 * succeeds with each try.
 */
const WAL_TRIES = 20;
const INCREMENTAL = 2;

/** Opens a SQLite store. `path` is a file or ":memory:". If the folder of the file is missing, it is created. */
export function openSqlite(path: string, clock: StoreClock): Store {
	const isFile = path !== ":memory:";
	if (isFile) {
		mkdirSync(dirname(path), { recursive: true });
		// The file is created here, because SQLite would make it readable for everybody on the machine.
		closeSync(openSync(path, "a", 0o600));
	}
	const database = new DatabaseSync(path, { timeout: OPEN_TIMEOUT_MS });
	// With incremental vacuum, the pages of removed rows can be returned to the disk. The setting has an effect only
	// before the first table is created. Later it would only rewrite the file's header, which fails on a full disk.
	if (database.prepare("pragma page_count").get()?.["page_count"] === 0)
		database.exec("pragma auto_vacuum = incremental");
	switchToWal(database);
	if (!isFile) return createSqliteStore(database, clock);
	return createSqliteStore(database, clock, {
		readerThread: new ReaderThread(path, clock),
		engineLock: createEngineLock(path),
	});
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

/** Clock for a command that only reads and has nothing else to do while it waits. */
const WITHOUT_EVENT_LOOP: StoreClock = { yieldLoop: async () => undefined };

/** Parts of a store that exist only for a file, not for a database in memory. */
interface FileParts {
	/** Thread that runs reads. Without it, all reads use the connection of the store. */
	readerThread?: ReaderThread;
	engineLock?: EngineLock;
}

/** Creates a store over an open database. Closing the store closes the database. */
export function createSqliteStore(
	database: DatabaseSync,
	clock: StoreClock,
	{ readerThread, engineLock }: FileParts = {},
): Store {
	database.exec(
		`pragma synchronous = full; pragma foreign_keys = on; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES};
			pragma busy_timeout = ${BUSY_TIMEOUT_MS}`,
	);
	const driver = new SqliteDriver(database, clock);
	const db = createDb(driver);
	const listeners = new DueListeners();
	const changes = new Set<(programmeId: number | null) => void>();
	return {
		kind: "sqlite",
		db,
		reader: readerThread === undefined ? db : createDb(new ReaderDriver(readerThread)),
		// `begin immediate` serves as the migration lock. A second process waits, sees which migrations the first process
		// has applied, and continues after them.
		migrate: (nowMs, options = {}) =>
			applyMigrations("sqlite", (work) => db.transaction().execute(work), nowMs, options),
		transact: (work) => rollBackRefusals(work, (refusable) => db.transaction().execute(refusable)),
		batch: createSqliteBatch(database),
		writeAlone: null,
		queue: createSqliteQueue(database, engineLock),
		sharesSlots: false,
		// With one writer at a time, each transaction ends before the next one assigns an id, so the order of the ids is
		// the order of the commits.
		moveOrder: { transaction: sql`moves.id`, endedBelow: sql`9223372036854775807` },
		// With one writer at a time, no other transaction can have locked a row.
		takeFreeRows: sql``,
		forceIndexes: async () => undefined,
		lookAlongIndexes: (look) => look(db),
		acceptsWrites: async () => {
			await db.selectFrom("schema_versions").select("version").limit(1).execute();
			return true;
		},
		readTime: null,
		connections: () => ({ limit: 1, ...driver.usage }),
		measureSize: () => measureSize(db),
		giveBackSpace: () => db.connection().execute(async () => giveBackPages(database)),
		// Engines of other processes need no notification, because they poll for changes. See hasChangedElsewhere.
		announceDue: (owed) => void listeners.onOwed(owed),
		announceChange: (programmeId) => {
			for (const hear of changes) hear(programmeId);
		},
		announceTargetChange: (receiverId) => listeners.onTargetChange(receiverId),
		announceRecheck: () => undefined,
		onChange: (listener) => void changes.add(listener),
		onDue: (listener) => listeners.add(listener),
		close: async () => {
			// The reader closes first. The last connection to close removes the write-ahead log, and a read-only connection
			// cannot do that.
			await readerThread?.close();
			await db.destroy();
			engineLock?.close();
			// Kysely does not destroy a driver that was never used, so the database is closed here in that case.
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

/**
 * Measures the database. SQLite counts the rows of the queue by its smallest index, which takes some milliseconds for a
 * million rows.
 */
async function measureSize(db: Kysely<Schema>): Promise<StoreSize> {
	const { rows } = await sql<StoreSize>`
		select page_count * page_size as "databaseBytes", (select count(*) from queue) as queued
		from pragma_page_count(), pragma_page_size()`.execute(db);
	const [size] = rows;
	if (size === undefined) throw new Error("a pragma always has a row");
	return size;
}

/**
 * Number of pages returned to the disk in one step. A step takes 5 ms on a busy machine, and 50 ms if SQLite copies its
 * log into the file, which may follow any write.
 */
const PAGES_A_STEP = 100;
/** Share of the file that stays free for new rows, which would otherwise make the file grow again. */
const KEPT_FREE_SHARE = 0.05;

function giveBackPages(database: DatabaseSync): boolean {
	const isGivable = () => {
		const { freelist_count } = database.prepare("pragma freelist_count").get() ?? {};
		const { page_count } = database.prepare("pragma page_count").get() ?? {};
		return Number(freelist_count) - PAGES_A_STEP > Number(page_count) * KEPT_FREE_SHARE;
	};
	const { auto_vacuum: mode } = database.prepare("pragma auto_vacuum").get() ?? {};
	if (mode !== INCREMENTAL || !isGivable()) return false;
	// The pragma is run by `exec`, because a prepared statement would return only one page.
	database.exec(`pragma incremental_vacuum(${PAGES_A_STEP})`);
	if (isGivable()) return true;
	// The file becomes smaller only when the log is copied into it.
	database.exec("pragma wal_checkpoint(passive)");
	return false;
}

/**
 * Switches a new file to WAL, which needs an exclusive lock. SQLite does not wait for this lock, so the switch is
 * retried.
 */
function switchToWal(database: DatabaseSync): void {
	for (let tried = 1; ; tried++) {
		try {
			database.exec("pragma journal_mode = wal");
			return;
		} catch (error) {
			if (!isBusy(error) || tried === WAL_TRIES) throw error;
			// Unlike the switch to WAL, a transaction waits for the lock. This transaction therefore waits until the other
			// process has released it.
			database.exec("begin immediate; commit");
		}
	}
}
