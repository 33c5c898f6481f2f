// Makes deliveries fail without sending anything.

import { sql } from "kysely";
import type { Db } from "#core/store/store.ts";

/**
 * Ends the given deliveries as failed, or all deliveries of the database if no ids are given. They are listed as
 * undelivered after that, even if they had failed before.
 */
export async function failDeliveries(db: Db, endedAtMs: number, ids?: readonly number[]): Promise<void> {
	const chosen = ids === undefined ? sql`` : sql`where id in (${sql.join(ids)})`;
	await sql`delete from queue where id in (select id from deliveries ${chosen})`.execute(db);
	await sql`delete from undelivered where id in (select id from deliveries ${chosen})`.execute(db);
	await sql`insert into undelivered (id, receiver_id, run, state, ended_at_ms)
		select id, receiver_id, run, 'failed', ${endedAtMs} from deliveries ${chosen}`.execute(db);
}
