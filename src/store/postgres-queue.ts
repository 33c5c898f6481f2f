// The hot queue on PostgreSQL: a batch is one statement, its columns travel as arrays. Reading what is due writes
// nothing: the lease of the lane keeps others away.

import { hotStatement } from "./hot-statement.ts";
import { arrayLiteral, columnLiteral } from "./postgres-array.ts";
import { POSTGRES_LANES } from "./postgres-lanes.ts";
import { settleOnPostgres } from "./postgres-settle.ts";
import { type CallbackTarget, type DueDelivery, type DueRead, type Queue, TARGET_SELECT } from "./queue.ts";

type DueRow = { [Column in keyof DueDelivery]: DueDelivery[Column] | null };

// Lateral down to the event: for every row the planner then has only its key, and no idea of reading all of them.
const READ_DUE = hotStatement<DueRow>(`
	with request as (
		select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[])
			as r(receiver_id, after_due_at_ms, after_id, row_limit)
	)
	select due.id, request.receiver_id as "receiverId", event.programme_id as "programmeId", due.due_at_ms as "dueAtMs",
		due.endpoint_epoch as "endpointEpoch", due.run, due.counted, due.seq,
		event.name as "eventName", event.body as "eventBody"
		from request cross join lateral (
			select q.id, q.due_at_ms, q.endpoint_epoch, q.run, q.counted, q.seq from queue q
				where q.receiver_id = request.receiver_id
					and (q.due_at_ms, q.id) > (request.after_due_at_ms, request.after_id) and q.due_at_ms <= $5
				order by q.due_at_ms, q.id limit request.row_limit) due
		cross join lateral (select e.programme_id, e.name, e.body from events e where e.id = due.id limit 1) event
	union all
	select null, request.receiver_id, null, next.due_at_ms, null, null, null, null, null, null
		from request left join lateral (
			select q.due_at_ms from queue q where q.receiver_id = request.receiver_id and q.due_at_ms > $5
				order by q.due_at_ms, q.id limit 1) next on true`);

const HAND_OUT = hotStatement<never>(`
	with ended as (
		delete from handouts where engine_id = $1 and number = any($2::bigint[])
	)
	insert into handouts (engine_id, number, at_ms, delivery_ids, dues)
		select $1, $3, $4, $5, $6 where $5 <> ''`);

const READ_TARGETS = hotStatement<CallbackTarget>(`${TARGET_SELECT} where p.id = any($1::bigint[])`);

export function createPostgresQueue(): Queue {
	return {
		...POSTGRES_LANES,
		settle: settleOnPostgres,
		async readDue(trx, requests, nowMs) {
			if (requests.length === 0) return { deliveries: [], nextDue: [] };
			const rows = await READ_DUE.run(trx, [
				columnLiteral(requests, (request) => request.receiverId),
				columnLiteral(requests, (request) => request.afterDueAtMs),
				columnLiteral(requests, (request) => request.afterId),
				columnLiteral(requests, (request) => request.limit),
				nowMs,
			]);
			return readRows(rows);
		},
		async handOut(trx, engineId, { number, deliveries }, ended, nowMs) {
			await HAND_OUT.run(trx, [
				engineId,
				arrayLiteral(ended),
				number,
				nowMs,
				deliveries.map(({ id }) => id).join(),
				deliveries.map(({ dueAtMs }) => dueAtMs).join(),
			]);
		},
		readTargets: async (trx, receiverIds) =>
			receiverIds.length === 0 ? [] : READ_TARGETS.run(trx, [arrayLiteral(receiverIds)]),
	};
}

function readRows(rows: readonly DueRow[]): DueRead {
	const read: DueRead = { deliveries: [], nextDue: [] };
	for (const row of rows) {
		if (row.id === null) read.nextDue.push({ receiverId: row.receiverId ?? 0, dueAtMs: row.dueAtMs });
		else read.deliveries.push(row as DueDelivery);
	}
	return read;
}
