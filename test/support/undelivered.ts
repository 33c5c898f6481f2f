// Makes deliveries fail without sending anything.

import { sql } from "kysely";
import type { ReceiverId } from "../../src/domain/receiver.ts";
import type { Db } from "../../src/store/store.ts";

/**
 * Ends the given deliveries as failed, or by default all deliveries of the database. They are then listed as
 * undelivered, even if they failed before.
 */
export async function failDeliveries(db: Db, endedAtMs: number, ids?: readonly number[]): Promise<void> {
	const chosen = ids === undefined ? sql`` : sql`where id in (${sql.join(ids)})`;
	const rows = await sql<{ id: number; receiver_id: ReceiverId; run: number }>`
		select id, receiver_id, run from deliveries ${chosen}`.execute(db);
	for (const { id, receiver_id, run } of rows.rows) {
		await db.deleteFrom("queue").where("id", "=", id).execute();
		await db.deleteFrom("undelivered").where("id", "=", id).execute();
		const failed = { id, receiver_id, run, state: "failed", ended_at_ms: endedAtMs } as const;
		await db.insertInto("undelivered").values(failed).execute();
	}
}
