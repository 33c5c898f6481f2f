// Creates many pending deliveries, and finds deliveries whose state and queue row disagree.

import { deepEqual } from "node:assert/strict";
import { sql } from "kysely";
import type { Programme } from "../../src/store/queries/programmes.ts";
import type { Store } from "../../src/store/store.ts";
import { START_MS } from "./clock.ts";

let lastAdded = 1_000_000;

/** Inserts deliveries that are due later, without their events, so that nothing is sent. */
export async function addPending(store: Store, { id }: Programme, count: number): Promise<number> {
	const first = lastAdded + 1;
	lastAdded += count;
	const numbers = sql`with recursive made(id) as (
		select ${sql.lit(first)} union all select id + 1 from made where id < ${sql.lit(lastAdded)})`;
	const receiver = sql.lit(id);
	await store.transact(async (trx) => {
		await sql`insert into deliveries
			(id, public_id, programme_id, receiver_id, state, run, attempts, created_at_ms)
			${numbers} select id, 'dlv_' || id, ${receiver}, ${receiver}, 'pending', 1, 0, 0 from made`.execute(
			trx,
		);
		await sql`insert into queue (id, receiver_id, due_at_ms, endpoint_epoch, run, counted, seq)
			${numbers} select id, ${receiver}, ${sql.lit(START_MS + 60_000)} + id % 1000, 0, 1, 0, 0 from made`.execute(
			trx,
		);
	});
	return count;
}

/** Demands that a delivery is pending exactly if it is in the queue. */
export async function demandNoLimbo(store: Store, { id }: Programme): Promise<void> {
	const { rows } = await sql`select d.id, d.state, q.id as queued from deliveries d
		left join queue q on q.id = d.id
		where d.receiver_id = ${id} and (d.state = 'pending') <> (q.id is not null)`.execute(store.db);
	deepEqual(rows, []);
}
