// The queue on PostgreSQL. A batch is one statement, and each column of the batch is one array parameter.

import { sql } from "kysely";
import { SLOT_STEP, SLOTS } from "../../domain/slot.ts";
import {
	ATTEMPT_COLUMNS,
	type CallbackTarget,
	countedQuarterMs,
	type DueDelivery,
	type DueRead,
	type FirstDue,
	type Queue,
	type ReadRequest,
	settledValues,
	TARGET_SELECT,
} from "../queries/queue.ts";
import { createSlotQueue } from "../queries/slot-queue.ts";
import type { Db } from "../store.ts";
import { arrayLiteral, arrayParameter, columnLiteral, hotStatement, listText } from "./hot-statement.ts";

/**
 * The current time on the server. The SQL function now() would return the start of the transaction, which may have
 * waited for a lock since.
 */
const NOW_MS = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;

const READ_FIRST_DUE = hotStatement<FirstDue>(`
	with recursive receiver(id) as (
		(select receiver_id from queue order by receiver_id limit 1)
		union all
		select (select q.receiver_id from queue q where q.receiver_id > receiver.id
			order by q.receiver_id limit 1) from receiver where receiver.id is not null)
	select receiver.id as "receiverId", first.id, first.due_at_ms as "dueAtMs" from receiver
		cross join lateral (select q.id, q.due_at_ms from queue q where q.receiver_id = receiver.id
			order by q.due_at_ms, q.id limit 1) first
		where (receiver.id * ${SLOT_STEP}) % ${SLOTS} = any(${arrayParameter(1, "bigint")}::bigint[])`);

type DueRow = { [Column in keyof DueDelivery]: DueDelivery[Column] | null } & Pick<DueDelivery, "receiverId">;

const READ_REQUEST = {
	receiver_id: "bigint",
	after_due_at_ms: "bigint",
	after_id: "bigint",
	row_limit: "integer",
} as const;

// The lateral joins make the planner look up each delivery and its event by their keys. Otherwise it may read a whole
// table.
const READ_DUE = hotStatement<DueRow>(`
	with request as (
		select * from ${listText("r", READ_REQUEST)}
	)
	select due.id, request.receiver_id as "receiverId", due.due_at_ms as "dueAtMs",
		due.endpoint_epoch as "endpointEpoch", due.run, due.counted, due.seq,
		event.name as "eventName", event.body as "eventBody"
		from request cross join lateral (
			select q.id, q.due_at_ms, q.endpoint_epoch, q.run, q.counted, q.seq from queue q
				where q.receiver_id = request.receiver_id
					and (q.due_at_ms, q.id) > (request.after_due_at_ms, request.after_id) and q.due_at_ms <= $5
				order by q.due_at_ms, q.id limit request.row_limit) due
		cross join lateral (select e.name, e.body from events e where e.id = due.id limit 1) event
	union all
	select null, request.receiver_id, next.due_at_ms, null, null, null, null, null, null
		from request left join lateral (
			select q.due_at_ms from queue q where q.receiver_id = request.receiver_id and q.due_at_ms > $5
				order by q.due_at_ms, q.id limit 1) next on true`);

const READ_TARGETS = hotStatement<CallbackTarget>(
	`${TARGET_SELECT} where r.id = any(${arrayParameter(1, "bigint")}::bigint[])`,
);

interface Settled {
	/** Number of engine rows that were locked. It is 0 if the engine's row is gone. */
	engines: number;
	/** The ids are text, because the driver returns 64-bit integers in arrays as text. */
	ids: readonly string[] | null;
}

/** Types of the array parameters of SETTLE. Nine are about the queue and the counts, and the others belong to the attempt. */
const SETTLED_TYPES = [
	...(["bigint", "bigint", "bigint", "integer", "text", "integer", "bigint", "bigint", "integer"] as const),
	...(["bigint", "integer", "integer", "text", "integer", "text", "bigint"] as const),
	...(["float8", "float8", "float8", "float8", "float8", "bigint", "text", "text", "text"] as const),
];
/** The engine's id is the first parameter. */
const SETTLED_ARRAYS = SETTLED_TYPES.map((type, at) => arrayParameter(at + 2, type)).join(", ");

// No result is stored without the engine's row, which is locked first. A result is stored only if the queue still has the
// delivery's row with the due time that was read. All other results are missing from `kept` and change nothing.
const SETTLE = hotStatement<Settled>(`
	with engine as (
		select id from engines where id = $1::bigint for update
	), result as (
		select r.* from engine cross join unnest(${SETTLED_ARRAYS})
			as r(receiver_id, old_due_at_ms, due_at_ms, counted, undelivered_state, ended_run, ended_at_ms, quarter_ms,
				is_delivered, ${ATTEMPT_COLUMNS})
	), taken as (
		delete from queue q using result r
			where q.id = r.delivery_id and q.due_at_ms = r.old_due_at_ms and r.due_at_ms is null
			returning q.id
	), put_back as (
		update queue q set due_at_ms = r.due_at_ms, counted = r.counted, seq = r.seq from result r
			where q.id = r.delivery_id and q.due_at_ms = r.old_due_at_ms and r.due_at_ms is not null
			returning q.id
	), kept as (
		select r.* from result r join (select id from taken union all select id from put_back) q on q.id = r.delivery_id
	), ended as (
		insert into undelivered (id, receiver_id, state, run, ended_at_ms)
			select delivery_id, receiver_id, undelivered_state, ended_run, ended_at_ms from kept
			where undelivered_state is not null
	), logged as (
		insert into attempts (${ATTEMPT_COLUMNS}) select ${ATTEMPT_COLUMNS} from kept where seq is not null
	), counts as (
		insert into callback_quarters (receiver_id, quarter_ms, delivered, failed)
			select receiver_id, quarter_ms, sum(is_delivered), sum(1 - is_delivered) from kept
			where quarter_ms is not null group by receiver_id, quarter_ms order by receiver_id, quarter_ms
			on conflict (receiver_id, quarter_ms) do update set
				delivered = callback_quarters.delivered + excluded.delivered,
				failed = callback_quarters.failed + excluded.failed
	)
	select (select count(*) from engine) as engines, (select array_agg(delivery_id) from kept) as ids`);

export const POSTGRES_QUEUE: Queue = {
	...createSlotQueue(() => NOW_MS, sql`for update skip locked`, sql`for update`),
	async settle(db, engineId, settlements) {
		if (settlements.length === 0) return new Set();
		const values = settlements.map((settlement) => {
			const { delivery, endedAtMs } = settlement;
			const { undeliveredState, dueAtMs, attempt } = settledValues(settlement);
			const ended = [undeliveredState, delivery.run, endedAtMs];
			const queued = [delivery.receiverId, delivery.dueAtMs, dueAtMs, delivery.counted + 1];
			const isDelivered = settlement.kind === "finished" && settlement.verdict === "delivered" ? 1 : 0;
			const counts = [countedQuarterMs(settlement), isDelivered];
			return [...queued, ...ended, ...counts, ...(attempt ?? [delivery.id])];
		});
		// A cancelled delivery has no attempt, so its list of values ends with the delivery's id. The missing values
		// become null.
		const columns = SETTLED_TYPES.map((_, n) => columnLiteral(values, (row) => row[n] ?? null));
		const [settled] = await SETTLE.run(db, [engineId, ...columns]);
		if (settled === undefined) throw new Error("a select without a table always has a row");
		return settled.engines === 0 ? null : new Set((settled.ids ?? []).map(Number));
	},
	readFirstDue: (trx, slots) => READ_FIRST_DUE.run(trx, [arrayLiteral(slots)]),
	readDue,
	readTargets: async (trx, receiverIds) =>
		receiverIds.length === 0 ? [] : READ_TARGETS.run(trx, [arrayLiteral(receiverIds)]),
	hasChangedElsewhere: () => false,
};

async function readDue(trx: Db, requests: readonly ReadRequest[], nowMs: number): Promise<DueRead> {
	const read: DueRead = { deliveries: [], nextDue: [] };
	if (requests.length === 0) return read;
	const rows = await READ_DUE.run(trx, [
		columnLiteral(requests, (request) => request.receiverId),
		columnLiteral(requests, (request) => request.afterDueAtMs),
		columnLiteral(requests, (request) => request.afterId),
		columnLiteral(requests, (request) => request.limit),
		nowMs,
	]);
	for (const row of rows) {
		if (row.id === null) read.nextDue.push({ receiverId: row.receiverId, dueAtMs: row.dueAtMs });
		else read.deliveries.push(row as DueDelivery);
	}
	return read;
}
