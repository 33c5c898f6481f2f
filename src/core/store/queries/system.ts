// State of the installation for the checks, and the small tables in which each process records its state.

import { type ChoreName, type ChoreRecord, isChoreName } from "../../domain/chore.ts";
import type { ProcessRecord } from "../../domain/process.ts";
import { DEFAULT_ZONE } from "../../domain/zone-day.ts";
import { MIGRATIONS, readSchema } from "../schema/migrations.ts";
import type { Db } from "../store.ts";
import type { ChoresTable, NetworkTable } from "../tables/network.ts";
import { type DeliveryPause, readPause } from "./delivery-pause.ts";
import { findUncompared, type Uncompared } from "./restores.ts";
import { isReplacing, readSealingKey } from "./sealing-key.ts";

export interface SystemReading {
	/** Schema version of the database, and the newest version that this program knows. */
	schema: { version: number; known: number };
	/** Time at which the database was created, or null if it is unknown. */
	createdAtMs: number | null;
	processes: readonly ProcessRecord[];
	chores: readonly ChoreRecord[];
	/** Present hold of all callbacks, or null while callbacks are sent. */
	pause: DeliveryPause | null;
	backups: KnownBackups;
	/** Time at which an unfinished replacement of the sealing key began, or null if there is none. */
	rekeyingSinceMs: number | null;
	/** Restores after which nobody has compared payments with the bank yet, or null if there are none. */
	uncompared: Uncompared | null;
	timeZone: string;
}

/** Last known backups, made by `ringback backup` or by other programs. */
export interface KnownBackups {
	/** Last backup that succeeded, or null. It contains everything that was stored before `atMs`. */
	last: { atMs: number; bytes: number | null; note: string | null } | null;
	/** Last backup that failed, or null if a backup has succeeded since. */
	failed: { atMs: number; note: string | null } | null;
}

/** Placeholder that is used until the state has been read. */
export const NOTHING_READ: SystemReading = {
	schema: { version: MIGRATIONS.length, known: MIGRATIONS.length },
	processes: [],
	chores: [],
	pause: null,
	createdAtMs: null,
	backups: { last: null, failed: null },
	rekeyingSinceMs: null,
	uncompared: null,
	timeZone: DEFAULT_ZONE,
};

export async function readSystem(db: Db, nowMs: number): Promise<SystemReading> {
	const { version, createdAtMs } = await readSchema(db);
	const network = await db
		.selectFrom("network")
		.select(["time_zone", ...BACKUP_COLUMNS])
		.executeTakeFirstOrThrow();
	const sealingKey = await readSealingKey(db);
	return {
		schema: { version, known: MIGRATIONS.length },
		createdAtMs,
		processes: await listProcesses(db),
		chores: await listChoreRecords(db),
		pause: await readPause(db, nowMs),
		backups: backupsOf(network),
		rekeyingSinceMs: isReplacing(sealingKey) ? sealingKey.replaced_at_ms : null,
		uncompared: await findUncompared(db),
		timeZone: network.time_zone,
	};
}

const BACKUP_COLUMNS = [
	"backed_up_at_ms",
	"backup_bytes",
	"backup_note",
	"backup_failed_at_ms",
	"backup_failure",
] as const;

function backupsOf(network: Pick<NetworkTable, (typeof BACKUP_COLUMNS)[number]>): KnownBackups {
	const { backed_up_at_ms: atMs, backup_failed_at_ms: failedAtMs } = network;
	return {
		last: atMs === null ? null : { atMs, bytes: network.backup_bytes, note: network.backup_note },
		failed: failedAtMs === null ? null : { atMs: failedAtMs, note: network.backup_failure },
	};
}

/** Records a backup that succeeded. Returns the time of the newest backup, which may be another one. */
export async function recordBackup(
	trx: Db,
	{ atMs, bytes, note }: { atMs: number; bytes: number | null; note: string | null },
): Promise<number | null> {
	const { backed_up_at_ms: newestMs } = await trx
		.updateTable("network")
		.set({ backup_failed_at_ms: null, backup_failure: null })
		.returning("backed_up_at_ms")
		.executeTakeFirstOrThrow();
	if (newestMs !== null && newestMs > atMs) return newestMs;
	const change = { backed_up_at_ms: atMs, backup_bytes: bytes, backup_note: note };
	await trx.updateTable("network").set(change).execute();
	return atMs;
}

/** Records a backup that failed. Returns the time of the last backup that succeeded, or null. */
export async function recordFailedBackup(
	db: Db,
	{ atMs, note }: { atMs: number; note: string | null },
): Promise<number | null> {
	const { backed_up_at_ms: succeededAtMs } = await db
		.updateTable("network")
		.set({ backup_failed_at_ms: atMs, backup_failure: note })
		.returning("backed_up_at_ms")
		.executeTakeFirstOrThrow();
	return succeededAtMs;
}

/** Saves the report of a process. `knownKeys` contains the ids of the sealing keys that the process knows. */
export async function saveProcess(
	db: Db,
	record: ProcessRecord,
	knownKeys: string | null = null,
): Promise<void> {
	const row = { ...record, known_keys: knownKeys };
	await db
		.insertInto("processes")
		.values(row)
		.onConflict((conflict) => conflict.column("instance").doUpdateSet(row))
		.execute();
}

export async function removeProcess(db: Db, instance: string): Promise<void> {
	await db.deleteFrom("processes").where("instance", "=", instance).execute();
}

export async function forgetProcesses(db: Db, seenBeforeMs: number): Promise<void> {
	await db.deleteFrom("processes").where("seen_at_ms", "<", seenBeforeMs).execute();
}

/** Lists the processes, beginning with the one that has run for longest. */
async function listProcesses(db: Db): Promise<ProcessRecord[]> {
	return db.selectFrom("processes").selectAll().orderBy("started_at_ms").orderBy("instance").execute();
}

/** Lists the records of all chores. Chores that this program does not know are left out. */
export async function listChoreRecords(db: Db): Promise<ChoreRecord[]> {
	const rows = await db.selectFrom("chores").selectAll().orderBy("name").execute();
	return rows.flatMap(({ name, ...record }) => (isChoreName(name) ? [{ name, ...record }] : []));
}

export type ChoreStep = "begun" | "working" | "done" | { error: string };

export async function saveChore(db: Db, name: ChoreName, step: ChoreStep, nowMs: number): Promise<void> {
	const change = changeOf(step, nowMs);
	await db
		.insertInto("chores")
		.values({ name, since_ms: nowMs, failures: 0, ...change })
		.onConflict((conflict) =>
			conflict
				.column("name")
				.doUpdateSet((eb) =>
					change.failures === 1
						? { ...change, failures: eb("chores.failures", "+", 1) }
						: { name, ...change },
				),
		)
		.execute();
}

/**
 * Returns the columns that a report changes. If one process succeeds, the chore counts as done, even if it failed in
 * another process.
 */
function changeOf(step: ChoreStep, nowMs: number): Partial<Omit<ChoresTable, "name" | "since_ms">> {
	if (step === "begun") return {};
	if (step === "working") return { working_at_ms: nowMs };
	if (step === "done") return { last_success_ms: nowMs, failures: 0 };
	return { last_failure_ms: nowMs, failures: 1, error: step.error };
}
