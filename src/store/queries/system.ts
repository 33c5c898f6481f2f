// The installation as staff and `ringback doctor` see it: one reading, of a few small tables and figures that are bounded.

import type { ChoreRecord } from "../../domain/chore.ts";
import type { ProcessRecord } from "../../domain/process.ts";
import { MIGRATIONS, readSchema } from "../schema/migrations.ts";
import type { Store } from "../store.ts";
import { listChoreRecords } from "./chores.ts";
import { type Figures, readFigures } from "./figures.ts";
import { readLastBackup } from "./last-backup.ts";
import { listProcesses } from "./processes.ts";

export interface SystemReading {
	/** What the database has, and what this program knows. */
	schema: { version: number; known: number };
	processes: readonly ProcessRecord[];
	chores: readonly ChoreRecord[];
	figures: Figures;
	/** By `ringback backup`; null when it never was. */
	backedUpAtMs: number | null;
}

export async function readSystem(store: Store, nowMs: number): Promise<SystemReading> {
	const { version } = await readSchema(store.db);
	return {
		schema: { version, known: MIGRATIONS.length },
		processes: await listProcesses(store.db),
		chores: await listChoreRecords(store.db),
		figures: await readFigures(store, nowMs),
		backedUpAtMs: await readLastBackup(store.db),
	};
}
