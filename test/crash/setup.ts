// The environment of a round: a new database, service processes that use it, and a function that reads the
// ledger without triggering a recovery that the service must do itself.

import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { slotOf } from "#core/domain/slot.ts";
import { SILENT_MS } from "#core/store/queries/queue.ts";
import { openSqlite } from "#core/store/sqlite/store.ts";
import type { Db, Store } from "#core/store/store.ts";
import { realClock } from "../../src/outside/clock.ts";
import { type Home, openHome, type Settings } from "../support/command-home.ts";
import { type DiskWay, type FullableDisk, openDisk } from "../support/full-disk.ts";
import { dropDatabase, type PostgresServer } from "../support/postgres.ts";
import { prepareDatabase, withWorkplace } from "../support/prepare-database.ts";
import type { ShopAccount } from "../support/shop-account.ts";
import { openStore } from "../support/test-database.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import { type Ledger, readLedger } from "./ledger.ts";
import { lookUntil } from "./look-until.ts";
import { finishStatements, openMoney, releaseStatements } from "./money.ts";
import type { RoundPlan } from "./plan.ts";
import { createProcesses, type Processes } from "./processes.ts";

export interface Setup {
	/** Account of each shop. */
	accounts: readonly ShopAccount[];
	/** Signing secret of the partner that gets callbacks. */
	partnerSecret: string;
	processes: Processes;
	/**
	 * A load balancer, if the plan restarts services cleanly. Clients that report sales must not notice the
	 * restarts.
	 */
	balancer: Balancer | null;
	/** Returns the addresses that accept reports. */
	doors(): readonly string[];
	/** The disk of the database, if the plan fills it. */
	disk: FullableDisk | null;
	readLedger(): Promise<Ledger>;
	readQueue(): Promise<readonly QueueRow[]>;
	readEngines(): Promise<Engines>;
	/** Restarts PostgreSQL, which breaks every connection. Throws on SQLite. */
	restartDatabase(way: "fast" | "immediate"): Promise<void>;
	/** Moves all due times closer by this much. No process may use the database. */
	passTime(ms: number): Promise<void>;
	/** Makes one engine count as silent, so that others take over while they continue to work. */
	lapse(engineId: number): Promise<void>;
	/** Resolves when PostgreSQL has noticed that these processes are dead. */
	untilForgotten(members: readonly number[]): Promise<void>;
	/** Lets the next service that starts issue statements. */
	releaseStatements(): Promise<void>;
	/** Issues the statements that the services did not issue. No service may run. */
	finishStatements(): Promise<void>;
	/** Removes everything after a successful round. Fails if a process still has the database open. */
	remove(): Promise<void>;
}

export interface QueueRow {
	dueAtMs: number;
	/** The engine that owns the slot, or null if the slot is free. */
	owner: number | null;
}

export interface Engines {
	/** Engines that have renewed their lease in time. */
	ids: readonly number[];
	/** Engines that are silent and whose slots no other engine has taken over yet. */
	lapsedIds: readonly number[];
	/** Number of slots of each engine. */
	slots: ReadonlyMap<number, number>;
}

export interface SetupOptions {
	plan: RoundPlan;
	shop: { url(shop: number): string; partnerUrl: string; caPem: string };
	postgres: () => Promise<PostgresServer>;
	diskWays: readonly DiskWay[];
	cleaning: { after(clean: () => Promise<void>): void };
}

const SECRET_KEY = "5e".repeat(32);
/**
 * Drain time of the services. It is six times as long as the load balancer trusts an answer, because the load
 * balancer may be late on a busy machine.
 */
const DRAIN_SECONDS = "2";

export async function openSetup(options: SetupOptions): Promise<Setup> {
	const home = openHome(options.cleaning);
	writeFileSync(join(home.folder, "ca.pem"), options.shop.caPem);
	switch (options.plan.kind) {
		case "sqlite-kill":
			return openSqliteSetup(options, home, null);
		case "disk-full": {
			const way = options.diskWays[options.plan.diskChoice % options.diskWays.length];
			if (way === undefined) throw new Error("this machine has no way to fill a disk");
			const disk = await openDisk(way, home.folder);
			options.cleaning.after(() => disk.remove());
			return openSqliteSetup(options, home, disk);
		}
		case "postgres-kill":
		case "postgres-restart":
		case "postgres-rolling":
		case "postgres-turnover":
			return openPostgresSetup(options, home);
		default:
			return options.plan.kind satisfies never;
	}
}

function commonSettings(home: Home, { cap }: RoundPlan): Settings {
	return {
		...(cap === null ? {} : { RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME: String(cap) }),
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
		RINGBACK_TRUSTED_CA: join(home.folder, "ca.pem"),
		RINGBACK_SECRET_KEY: SECRET_KEY,
	};
}

async function openAccounts(
	settings: Settings,
	{ plan, shop }: SetupOptions,
): Promise<Pick<Setup, "accounts" | "partnerSecret">> {
	const accounts: ShopAccount[] = [];
	for (let index = 0; index < plan.shops; index++) {
		const terms = { owners: [`owner-${index}@shop.example`], creditsPartners: true };
		accounts.push(await prepareDatabase(settings, { postbackUrl: shop.url(index), ...terms }));
	}
	const partnerSecret = await withWorkplace(settings, (workplace) =>
		openMoney(workplace, accounts, plan.roles.length > 1, shop.partnerUrl),
	);
	return { accounts, partnerSecret };
}

async function openSqliteSetup(options: SetupOptions, home: Home, disk: FullableDisk | null): Promise<Setup> {
	const path = disk === null ? home.databasePath : join(disk.folder, "ringback.db");
	const settings = { ...commonSettings(home, options.plan), DATABASE_URL: `sqlite:${path}` };
	const opened = await openAccounts(settings, options);
	const processes = createProcesses(home, options.plan.roles, () => settings);
	return {
		...opened,
		processes,
		balancer: null,
		doors: processes.doors,
		disk,
		readLedger: () =>
			processes.isDown ? readCopy(path, home.folder) : withStore(openSqlite(path, realClock), readLedger),
		...readersOf((question) => withStore(openSqlite(path, realClock), question)),
		restartDatabase: () => Promise.reject(new Error("a SQLite file cannot be restarted")),
		untilForgotten: async () => undefined,
		finishStatements: () => withWorkplace(settings, finishStatements),
		async remove() {
			// The last connection that closes removes the write-ahead log, so the file shows that a connection is
			// open.
			if (existsSync(`${path}-wal`)) throw new Error("a connection to the SQLite file is still open");
		},
	};
}

/**
 * Reads the ledger from a copy of the SQLite file, which no process may have open. Opening the original would
 * run SQLite's recovery, which the service itself must do.
 */
async function readCopy(path: string, folder: string): Promise<Ledger> {
	const copyFolder = mkdtempSync(join(folder, "copy-"));
	try {
		for (const suffix of ["", "-wal"]) {
			if (existsSync(`${path}${suffix}`))
				copyFileSync(`${path}${suffix}`, join(copyFolder, `copy.db${suffix}`));
		}
		return await withStore(openSqlite(join(copyFolder, "copy.db"), realClock), readLedger);
	} finally {
		rmSync(copyFolder, { recursive: true });
	}
}

/**
 * Opens a store for one query and closes it again, because a lasting connection would break when the server
 * restarts.
 */
async function withStore<Value>(store: Store, ask: (db: Db) => Promise<Value>): Promise<Value> {
	try {
		return await ask(store.db);
	} finally {
		await store.close();
	}
}

function readersOf(ask: <Value>(question: (db: Db) => Promise<Value>) => Promise<Value>) {
	return {
		readQueue: () => ask(readQueue),
		readEngines: () => ask(readEngines),
		passTime: (ms: number) => ask((db) => moveQueue(db, ms)),
		lapse: (engineId: number) => ask((db) => endLease(db, engineId)),
		releaseStatements: () => ask(releaseStatements),
	};
}

async function readQueue(db: Db): Promise<QueueRow[]> {
	const slots = await db.selectFrom("slots").selectAll().execute();
	const ownerOf = new Map(slots.map(({ slot, engine_id }) => [slot, engine_id]));
	const rows = await db.selectFrom("queue").select(["due_at_ms", "receiver_id"]).execute();
	return rows.map(({ due_at_ms, receiver_id }) => {
		return { dueAtMs: due_at_ms, owner: ownerOf.get(slotOf(receiver_id)) ?? null };
	});
}

async function readEngines(db: Db): Promise<Engines> {
	const { engines, slots } = await db
		.transaction()
		.setIsolationLevel("repeatable read")
		.execute(async (trx) => ({
			engines: await trx.selectFrom("engines").select(["id", "renewed_at_ms"]).execute(),
			slots: await trx.selectFrom("slots").selectAll().execute(),
		}));
	const heardSinceMs = Date.now() - SILENT_MS;
	const isGood = ({ renewed_at_ms }: { renewed_at_ms: number | null }) => (renewed_at_ms ?? 0) > heardSinceMs;
	const owned = Map.groupBy(slots, ({ engine_id }) => engine_id);
	return {
		ids: engines.filter(isGood).map(({ id }) => id),
		lapsedIds: engines.filter((engine) => !isGood(engine)).map(({ id }) => id),
		slots: new Map([...owned].flatMap(([id, own]) => (id === null ? [] : [[id, own.length]]))),
	};
}

async function endLease(db: Db, engineId: number): Promise<void> {
	await sql`update engines set renewed_at_ms = renewed_at_ms - ${SILENT_MS} where id = ${engineId}`.execute(
		db,
	);
}

async function moveQueue(db: Db, ms: number): Promise<void> {
	await sql`update queue set due_at_ms = due_at_ms - ${ms}`.execute(db);
	await sql`update engines set renewed_at_ms = renewed_at_ms - ${ms}`.execute(db);
}

async function openPostgresSetup(options: SetupOptions, home: Home): Promise<Setup> {
	const { plan } = options;
	const server = await options.postgres();
	const name = `crash_${plan.seed}`;
	const url = await server.createDatabase(name);
	const isRolling = plan.kind === "postgres-rolling";
	const settings = {
		...commonSettings(home, plan),
		DATABASE_URL: url,
		...(isRolling ? { RINGBACK_DRAIN_SECONDS: DRAIN_SECONDS } : {}),
	};
	const ask = <Value>(question: (db: Db) => Promise<Value>) =>
		withStore(openStore("PostgreSQL", url), question);
	const opened = await openAccounts(settings, options);
	const nameOf = (member: number) => `member-${member}`;
	const processes = createProcesses(home, plan.roles, (member) => {
		return { ...settings, DATABASE_URL: `${url}?application_name=${nameOf(member)}` };
	});
	const balancer = isRolling ? await startBalancer(processes.urls) : null;
	options.cleaning.after(async () => balancer?.close());
	return {
		...opened,
		processes,
		balancer,
		doors: balancer === null ? processes.doors : () => [balancer.url],
		disk: null,
		readLedger: () => ask(readLedger),
		...readersOf(ask),
		restartDatabase: (way) => server.restart(way),
		untilForgotten: (members) =>
			lookUntil(() => ask(async (db) => (await countConnections(db, members.map(nameOf))) === 0)),
		finishStatements: () => withWorkplace(settings, finishStatements),
		remove: () => dropDatabase(server.url(), name),
	};
}

async function countConnections(db: Db, names: readonly string[]): Promise<number> {
	const { rows } = await sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
		where datname = current_database() and application_name = any(${names})`.execute(db);
	return rows[0]?.count ?? 0;
}
