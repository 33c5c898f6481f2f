// How often something was done within a window of time: one row a subject, the same for every process.

import type { Db } from "./store.ts";

export interface LimitCount {
	uses: number;
	endsAtMs: number;
}

/** One more; a window that is over begins anew. In one statement, so that nobody slips in between. */
export async function countUse(
	db: Db,
	subject: string,
	windowMs: number,
	nowMs: number,
): Promise<LimitCount> {
	const { uses, ends_at_ms: endsAtMs } = await db
		.insertInto("limit_counts")
		.values({ subject, uses: 1, ends_at_ms: nowMs + windowMs })
		.onConflict((conflict) =>
			conflict.column("subject").doUpdateSet((eb) => ({
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
			})),
		)
		.returning(["uses", "ends_at_ms"])
		.executeTakeFirstOrThrow();
	return { uses, endsAtMs };
}

/** It was none after all. */
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
