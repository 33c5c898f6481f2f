// The records of chores: a handful of rows that every process reads, and writes when it has something to add.

import { type ChoreName, type ChoreRecord, isChoreName } from "../../domain/chore.ts";
import type { Db } from "../store.ts";

/** Of a chore that this program does not know, nothing is told. */
export async function listChoreRecords(db: Db): Promise<ChoreRecord[]> {
	const rows = await db.selectFrom("chores").selectAll().orderBy("name").execute();
	return rows.flatMap(({ name, ...row }) => {
		if (!isChoreName(name)) return [];
		return [
			{
				name,
				sinceMs: row.since_ms,
				lastSuccessMs: row.last_success_ms,
				workingAtMs: row.working_at_ms,
				lastFailureMs: row.last_failure_ms,
				failures: row.failures,
				error: row.error,
			},
		];
	});
}

export async function saveChoreRecords(db: Db, records: readonly ChoreRecord[]): Promise<void> {
	if (records.length === 0) return;
	// In a fixed order: two processes that write at once must not wait for each other.
	const rows = records
		.toSorted((a, b) => (a.name < b.name ? -1 : 1))
		.map((record) => ({
			name: record.name,
			since_ms: record.sinceMs,
			last_success_ms: record.lastSuccessMs,
			working_at_ms: record.workingAtMs,
			last_failure_ms: record.lastFailureMs,
			failures: record.failures,
			error: record.error,
		}));
	await db
		.insertInto("chores")
		.values(rows)
		.onConflict((conflict) =>
			conflict.column("name").doUpdateSet((eb) => ({
				since_ms: eb.ref("excluded.since_ms"),
				last_success_ms: eb.ref("excluded.last_success_ms"),
				working_at_ms: eb.ref("excluded.working_at_ms"),
				last_failure_ms: eb.ref("excluded.last_failure_ms"),
				failures: eb.ref("excluded.failures"),
				error: eb.ref("excluded.error"),
			})),
		)
		.execute();
}

/** Nobody does them any more, by the settings. */
export async function forgetChores(db: Db, names: readonly ChoreName[]): Promise<void> {
	if (names.length > 0) await db.deleteFrom("chores").where("name", "in", names).execute();
}
