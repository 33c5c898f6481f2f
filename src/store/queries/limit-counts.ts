// How often something was done within a window of time: one row a subject, the same for every process.

import type { Db } from "../store.ts";

export interface LimitCount {
	uses: number;
	endsAtMs: number;
}

/** By subject; those whose window is over are left out. */
export async function readUses(
	db: Db,
	subjects: readonly string[],
	nowMs: number,
): Promise<Map<string, LimitCount>> {
	const rows = await db
		.selectFrom("limit_counts")
		.select(["subject", "uses", "ends_at_ms as endsAtMs"])
		.where("subject", "in", subjects)
		.where("ends_at_ms", ">", nowMs)
		.execute();
	return new Map(rows.map(({ subject, ...count }) => [subject, count]));
}

/**
 * One more, unless there are `max` already: then it is false and nothing changes. A window that is over begins
 * anew. In one statement, so that nobody slips in between.
 */
export async function countUse(
	db: Db,
	subject: string,
	{ max, windowMs }: { max: number; windowMs: number },
	nowMs: number,
): Promise<boolean> {
	const counted = await db
		.insertInto("limit_counts")
		.values({ subject, uses: 1, ends_at_ms: nowMs + windowMs })
		.onConflict((conflict) =>
			conflict
				.column("subject")
				.doUpdateSet((eb) => ({
					uses: eb
						.case()
						.when("limit_counts.ends_at_ms", "<=", nowMs)
						.then(eb.ref("excluded.uses"))
						.else(eb("limit_counts.uses", "+", eb.ref("excluded.uses")))
						.end(),
					ends_at_ms: eb
						.case()
						.when("limit_counts.ends_at_ms", "<=", nowMs)
						.then(eb.ref("excluded.ends_at_ms"))
						.else(eb.ref("limit_counts.ends_at_ms"))
						.end(),
				}))
				.where((eb) =>
					eb.or([eb("limit_counts.uses", "<", max), eb("limit_counts.ends_at_ms", "<=", nowMs)]),
				),
		)
		.returning("uses")
		.executeTakeFirst();
	return counted !== undefined;
}

/** Takes one use back. */
export async function uncountUse(db: Db, subject: string): Promise<void> {
	await db
		.updateTable("limit_counts")
		.set((eb) => ({ uses: eb("uses", "-", 1) }))
		.where("subject", "=", subject)
		.where("uses", ">", 0)
		.execute();
}

export async function forgetUses(db: Db, subject: string): Promise<void> {
	await db.deleteFrom("limit_counts").where("subject", "=", subject).execute();
}

/** Windows that are over count for nothing. */
export async function pruneUses(db: Db, nowMs: number): Promise<void> {
	await db.deleteFrom("limit_counts").where("ends_at_ms", "<=", nowMs).execute();
}
