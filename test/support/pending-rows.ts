// Creates many pending deliveries, and finds deliveries whose state and queue row disagree.

import { deepEqual } from "node:assert/strict";
import { sql } from "kysely";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Store } from "#core/store/store.ts";
import { START_MS } from "./clock.ts";

let lastAdded = 1_000_000;
/**
 * Number of ids that are left free below the new ones. On SQLite the next event gets the id after the highest one, and
 * later events of the same test need ids.
 */
const FREE_IDS = 1_000;

/** Inserts deliveries that are due later. Their conversions do not exist. */
export async function addPending(
	store: Store,
	{ receiver_id: id }: Programme,
	count: number,
): Promise<number> {
	const first = lastAdded + FREE_IDS;
	lastAdded = first + count - 1;
	const numbers = sql`with recursive made(id) as (
		select ${sql.lit(first)} union all select id + 1 from made where id < ${sql.lit(lastAdded)})`;
	const receiver = sql.lit(id);
	await store.transact(async (trx) => {
		await sql`insert into events
			(id, public_id, receiver_id, conversion_id, name, body, created_at_ms)
			${numbers} select id, 'dlv_' || id, ${receiver}, id, 'conversion.recorded', '{}', 0
				from made`.execute(trx);
		await sql`insert into queue (id, receiver_id, due_at_ms, endpoint_epoch, run, counted, seq)
			${numbers} select id, ${receiver}, ${sql.lit(START_MS + 60_000)} + id % 1000, 0, 1, 0, 0 from made`.execute(
			trx,
		);
	});
	return count;
}

/**
 * Throws if a delivery of the programme has a row both in `queue` and in `undelivered`, or has neither and did not
 * succeed.
 */
export async function demandNoLimbo(store: Store, { receiver_id: id }: Programme): Promise<void> {
	const { rows } = await sql`select e.id from events e
		left join queue q on q.id = e.id left join undelivered u on u.id = e.id
		where e.receiver_id = ${id} and case when q.id is null and u.id is null
			then not exists (select 1 from attempts a where a.delivery_id = e.id and a.http_status between 200 and 299)
			else q.id is not null and u.id is not null end`.execute(store.db);
	deepEqual(rows, []);
}
