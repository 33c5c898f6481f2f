// Counts uses of what rate limits allow. Each subject has one row, which all processes share.

import { sql } from "kysely";
import type { Db } from "../store.ts";

export interface LimitCount {
	uses: number;
	endsAtMs: number;
}

/** Returns the numbers of uses by subject. Subjects whose time window has ended are left out. */
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
 * Counts one use. Returns false and changes nothing if the maximum is reached. If the last time window has ended, a
 * new window begins. A single statement does all of this, so that two concurrent requests cannot both take the last
 * use.
 */
export async function countUse(
	db: Db,
	subject: string,
	{ max, windowMs }: { max: number; windowMs: number },
	nowMs: number,
): Promise<boolean> {
	const { rows } = await sql`
		insert into limit_counts as c (subject, uses, ends_at_ms) values (${subject}, 1, ${nowMs + windowMs})
		on conflict (subject) do update set
			uses = case when c.ends_at_ms <= ${nowMs} then 1 else c.uses + 1 end,
			ends_at_ms = case when c.ends_at_ms <= ${nowMs} then excluded.ends_at_ms else c.ends_at_ms end
		where c.uses < ${max} or c.ends_at_ms <= ${nowMs}
		returning uses`.execute(db);
	return rows.length > 0;
}

export async function uncountUse(db: Db, subject: string): Promise<void> {
	await db
		.updateTable("limit_counts")
		.set((eb) => ({ uses: eb("uses", "-", 1) }))
		.where("subject", "=", subject)
		.where("uses", ">", 0)
		.execute();
}

export async function resetUses(db: Db, subject: string): Promise<void> {
	await db.deleteFrom("limit_counts").where("subject", "=", subject).execute();
}
