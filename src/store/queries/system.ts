// The state of the installation for the checks, and the small tables in which each process records it.

import { type ChoreName, type ChoreRecord, isChoreName } from "../../domain/chore.ts";
import type { ProcessRecord } from "../../domain/process.ts";
import { DEFAULT_ZONE } from "../../domain/zone-day.ts";
import { MIGRATIONS, readSchema } from "../schema/migrations.ts";
import type { Db } from "../store.ts";
import type { ChoresTable } from "../tables/network.ts";
import { type DeliveryPause, readPause } from "./delivery-pause.ts";

export interface SystemReading {
	/** Schema version of the database, and the newest one that this program knows. */
	schema: { version: number; known: number };
	processes: readonly ProcessRecord[];
	chores: readonly ChoreRecord[];
	/** The present hold of all callbacks, or null while callbacks are sent. */
	pause: DeliveryPause | null;
	/** Time of the last `ringback backup`, or null. */
	backedUpAtMs: number | null;
	/** Time zone of the network, for times in sentences. */
	timeZone: string;
}

/** Placeholder that is used until the state has been read. */
export const NOTHING_READ: SystemReading = {
	schema: { version: MIGRATIONS.length, known: MIGRATIONS.length },
	processes: [],
	chores: [],
	pause: null,
	backedUpAtMs: null,
	timeZone: DEFAULT_ZONE,
};

export async function readSystem(db: Db, nowMs: number): Promise<SystemReading> {
	const { version } = await readSchema(db);
	const network = await db
		.selectFrom("network")
		.select(["backed_up_at_ms", "time_zone"])
		.executeTakeFirstOrThrow();
	return {
		schema: { version, known: MIGRATIONS.length },
		processes: await listProcesses(db),
		chores: await listChoreRecords(db),
		pause: await readPause(db, nowMs),
		backedUpAtMs: network.backed_up_at_ms,
		timeZone: network.time_zone,
	};
}

export async function noteBackup(db: Db, atMs: number): Promise<void> {
	await db.updateTable("network").set({ backed_up_at_ms: atMs }).execute();
}

export async function saveProcess(db: Db, record: ProcessRecord): Promise<void> {
	await db
		.insertInto("processes")
		.values(record)
		.onConflict((conflict) => conflict.column("instance").doUpdateSet(record))
		.execute();
}

export async function removeProcess(db: Db, instance: string): Promise<void> {
	await db.deleteFrom("processes").where("instance", "=", instance).execute();
}

/** Removes processes that have not reported since the given time. */
export async function forgetProcesses(db: Db, seenBeforeMs: number): Promise<void> {
	await db.deleteFrom("processes").where("seen_at_ms", "<", seenBeforeMs).execute();
}

/** Lists the processes, beginning with the one that has run for longest. */
async function listProcesses(db: Db): Promise<ProcessRecord[]> {
	return db.selectFrom("processes").selectAll().orderBy("started_at_ms").orderBy("instance").execute();
}

/** Lists the records of all chores, without chores that this program does not know. */
export async function listChoreRecords(db: Db): Promise<ChoreRecord[]> {
	const rows = await db.selectFrom("chores").selectAll().orderBy("name").execute();
	return rows.flatMap(({ name, ...record }) => (isChoreName(name) ? [{ name, ...record }] : []));
}

/** Report of a process about its work on a chore. */
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
 * Returns the columns that a report changes. The success of one process suffices, even if the chore failed in another.
 */
function changeOf(step: ChoreStep, nowMs: number): Partial<Omit<ChoresTable, "name" | "since_ms">> {
	if (step === "begun") return {};
	if (step === "working") return { working_at_ms: nowMs };
	if (step === "done") return { last_success_ms: nowMs, failures: 0 };
	return { last_failure_ms: nowMs, failures: 1, error: step.error };
}
