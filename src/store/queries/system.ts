// The installation as its checks see it: one reading of a few small tables.

import type { ChoreRecord } from "../../domain/chore.ts";
import type { DeliveryPause } from "../../domain/delivery-pause.ts";
import type { ProcessRecord } from "../../domain/process.ts";
import { MIGRATIONS, readSchema } from "../schema/migrations.ts";
import type { Db } from "../store.ts";
import { listChoreRecords } from "./chores.ts";
import { readPause } from "./delivery-pause.ts";
import { listProcesses } from "./processes.ts";

export interface SystemReading {
	/** What the database has, and what this program knows. */
	schema: { version: number; known: number };
	processes: readonly ProcessRecord[];
	chores: readonly ChoreRecord[];
	/** Null while callbacks go out. */
	pause: DeliveryPause | null;
	/** By `ringback backup`; null when it never was. */
	backedUpAtMs: number | null;
}

/** Before anything was read. */
export const NOTHING_READ: SystemReading = {
	schema: { version: MIGRATIONS.length, known: MIGRATIONS.length },
	processes: [],
	chores: [],
	pause: null,
	backedUpAtMs: null,
};

export async function readSystem(db: Db, nowMs: number): Promise<SystemReading> {
	const { version } = await readSchema(db);
	const network = await db.selectFrom("network").select("backed_up_at_ms").executeTakeFirstOrThrow();
	return {
		schema: { version, known: MIGRATIONS.length },
		processes: await listProcesses(db),
		chores: await listChoreRecords(db),
		pause: await readPause(db, nowMs),
		backedUpAtMs: network.backed_up_at_ms,
	};
}

export async function noteBackup(db: Db, atMs: number): Promise<void> {
	await db.updateTable("network").set({ backed_up_at_ms: atMs }).execute();
}
