// The records of chores: a handful of rows that every process reads, each written by the processes that do the chore.

import { type ChoreName, type ChoreRecord, isChoreName } from "../../domain/chore.ts";
import type { Db } from "../store.ts";
import type { ChoresTable } from "../tables/network.ts";

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

/** What a process has to tell of a chore. */
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

/** The success of one process is enough, whatever failed in another. */
function changeOf(step: ChoreStep, nowMs: number): Partial<Omit<ChoresTable, "name" | "since_ms">> {
	if (step === "begun") return {};
	if (step === "working") return { working_at_ms: nowMs };
	if (step === "done") return { last_success_ms: nowMs, failures: 0 };
	return { last_failure_ms: nowMs, failures: 1, error: step.error };
}
