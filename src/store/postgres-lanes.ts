// Leases and lanes on PostgreSQL. A pass locks its engine's row first. Lanes are only ever taken with SKIP LOCKED: whoever
// removes a URL locks the lane first and then waits for the engine, and an event that is owed may hold a lane until
// its transaction ends. A lane that was skipped is met again by a later pass.

import { hotStatement } from "./hot-statement.ts";
import { arrayLiteral } from "./postgres-array.ts";
import { type Leased, NEVER_MS, type Others, type PassBegun, type Queue } from "./queue.ts";

type LaneQueue = Pick<
	Queue,
	"beginPass" | "listLanes" | "readOthers" | "lease" | "shut" | "letGo" | "passOn" | "takeOver" | "findMissed"
>;

// The snapshot is older than the transaction's own number: all that are lower than `endedBelow` have ended.
const PASS_BEGUN = `pg_current_xact_id()::text::bigint as transaction,
	pg_snapshot_xmin(pg_current_snapshot())::text::bigint as "endedBelow"`;

const LOCK_ENGINE = hotStatement<PassBegun>(`select ${PASS_BEGUN} from engines where id = $1 for update`);

const RENEW = hotStatement<PassBegun>(
	`update engines set good_until_ms = $2, held = $3 where id = $1 returning ${PASS_BEGUN}`,
);

const LIST_LANES = hotStatement<{ receiverId: number }>(
	'select receiver_id as "receiverId" from lanes where engine_id = $1',
);

const READ_OTHERS = hotStatement<Omit<Others, "hasLapsed"> & { lapsed: number }>(`
	select count(*) filter (where good_until_ms >= $2 and id <> $1) as count,
		coalesce(sum(held) filter (where good_until_ms >= $2 and id <> $1), 0)::bigint as held,
		count(*) filter (where good_until_ms < $2 and id <> $1) as lapsed,
		(select count(*) from lanes where engine_id is null and next_due_ms <= $2) as waiting,
		(select next_due_ms from lanes where engine_id is null and next_due_ms <= $2
			order by next_due_ms limit 1) as "waitingSinceMs"
	from engines`);

// The ids as an array: whatever the statistics say, the lanes are then updated by their key.
const LEASE = hotStatement<{ receiverId: number | null; nextDueAtMs: number | null }>(`
	with free as (
		select receiver_id from lanes where engine_id is null and next_due_ms <= $3
			order by next_due_ms limit $2 for update skip locked
	), leased as (
		update lanes set engine_id = $1 where receiver_id = any(array(select receiver_id from free))
			returning receiver_id
	)
	select receiver_id as "receiverId", null::bigint as "nextDueAtMs" from leased
	union all
	select null, (select next_due_ms from lanes where engine_id is null and next_due_ms > $3
		order by next_due_ms limit 1)`);

const FIRST_DUE = `(select q.due_at_ms from queue q where q.receiver_id = lanes.receiver_id
	order by q.due_at_ms, q.id limit 1)`;

const SHUT = hotStatement<{ receiverId: number }>(`
	with mine as (
		select receiver_id from lanes where receiver_id = any($2::bigint[]) and engine_id = $1
			for update skip locked
	)
	update lanes set next_due_ms = coalesce(${FIRST_DUE}, ${NEVER_MS})
		where receiver_id = any(array(select receiver_id from mine)) returning receiver_id as "receiverId"`);

// It never becomes due later than it says: only `shut` may do that.
const LET_GO = hotStatement<{ receiverId: number }>(`
	with mine as (
		select receiver_id, least(next_due_ms, coalesce(${FIRST_DUE}, ${NEVER_MS})) as due_at_ms from lanes
			where receiver_id = any($2::bigint[]) and engine_id = $1 for update skip locked
	), gone as (
		delete from lanes where receiver_id = any(array(select receiver_id from mine where due_at_ms = ${NEVER_MS}))
	), freed as (
		update lanes set engine_id = null, next_due_ms = mine.due_at_ms from mine
			where lanes.receiver_id = mine.receiver_id and mine.due_at_ms < ${NEVER_MS}
	)
	select receiver_id as "receiverId" from mine`);

const PASS_ON = hotStatement<{ receiverId: number }>(`
	with mine as (
		select receiver_id from lanes where receiver_id = any($2::bigint[]) and engine_id = $1
			for update skip locked
	)
	update lanes set engine_id = null, next_due_ms = $3
		where receiver_id = any(array(select receiver_id from mine)) returning receiver_id as "receiverId"`);

const FIND_LAPSED = hotStatement<{ id: number }>(
	"select id from engines where good_until_ms < $1 order by id limit 1 for update skip locked",
);

const LOCK_LANES = hotStatement<{ locked: number; held: number }>(`
	with locked as (select receiver_id from lanes where engine_id = $1 for update skip locked)
	select (select count(*) from locked) as locked, (select count(*) from lanes where engine_id = $1) as held`);

// What was in hand and never settled may have reached the shop: it is one more attempt in the log.
const INTERRUPT = hotStatement<{ interrupted: number }>(`
	with hand as (
		select distinct on (h.id) h.id, h.due_at_ms, handouts.at_ms from handouts
			cross join lateral unnest(string_to_array(delivery_ids, ',')::bigint[], string_to_array(dues, ',')::bigint[])
				as h(id, due_at_ms)
			where engine_id = $1 order by h.id, handouts.number desc
	), counted as (
		update queue q set seq = q.seq + 1 from hand
			where q.id = hand.id and q.due_at_ms = hand.due_at_ms and q.id = any(array(select id from hand))
			returning q.id, q.run, q.seq, hand.at_ms
	), noted as (
		update deliveries d set attempts = counted.seq, interrupted = d.interrupted + 1 from counted
			where d.id = counted.id and d.id = any(array(select id from counted))
			returning d.id, d.programme_id
	), logged as (
		insert into attempts (delivery_id, seq, programme_id, run, result, started_at_ms)
			select id, counted.seq, noted.programme_id, counted.run, 'interrupted', counted.at_ms
				from counted join noted using (id)
	)
	select count(*) as interrupted from counted`);

const FREE_ALL = hotStatement<never>(
	"update lanes set engine_id = null, next_due_ms = $2 where engine_id = $1",
);
const FORGET_HANDOUTS = hotStatement<never>("delete from handouts where engine_id = $1");
const REMOVE_ENGINE = hotStatement<never>("delete from engines where id = $1");

// Jumps from receiver to receiver along the index instead of reading every row.
const FIND_MISSED = hotStatement<{ receiverId: number; dueAtMs: number }>(`
	with recursive receiver(id) as (
		(select receiver_id from queue order by receiver_id limit 1)
		union all
		select (select q.receiver_id from queue q where q.receiver_id > receiver.id
			order by q.receiver_id limit 1) from receiver where receiver.id is not null)
	select receiver.id as "receiverId", first.due_at_ms as "dueAtMs" from receiver
		cross join lateral (select q.due_at_ms from queue q where q.receiver_id = receiver.id
			order by q.due_at_ms, q.id limit 1) first
		left join lanes on lanes.receiver_id = receiver.id
		where receiver.id is not null and (lanes.receiver_id is null
			or (lanes.engine_id is null and lanes.next_due_ms > greatest(first.due_at_ms, $1)))`);

export const POSTGRES_LANES: LaneQueue = {
	async beginPass(trx, engineId, renewal) {
		const [begun] =
			renewal === null
				? await LOCK_ENGINE.run(trx, [engineId])
				: await RENEW.run(trx, [engineId, renewal.goodUntilMs, renewal.held]);
		return begun ?? null;
	},
	listLanes: (trx, engineId) => idsOf(LIST_LANES.run(trx, [engineId])),
	async readOthers(trx, engineId, nowMs) {
		const [others] = await READ_OTHERS.run(trx, [engineId, nowMs]);
		if (others === undefined) throw new Error("an aggregate always has a row");
		const { lapsed, ...rest } = others;
		return { ...rest, hasLapsed: lapsed > 0 };
	},
	async lease(trx, engineId, limit, dueBeforeMs) {
		const leased: Leased = { receiverIds: [], nextDueAtMs: null };
		for (const { receiverId, nextDueAtMs } of await LEASE.run(trx, [engineId, limit, dueBeforeMs])) {
			if (receiverId === null) leased.nextDueAtMs = nextDueAtMs;
			else leased.receiverIds.push(receiverId);
		}
		return leased;
	},
	shut: (trx, engineId, receiverIds) => idsOf(SHUT.run(trx, [engineId, arrayLiteral(receiverIds)])),
	letGo: (trx, engineId, receiverIds) => idsOf(LET_GO.run(trx, [engineId, arrayLiteral(receiverIds)])),
	passOn: (trx, engineId, receiverIds, nowMs) =>
		idsOf(PASS_ON.run(trx, [engineId, arrayLiteral(receiverIds), nowMs])),
	async takeOver(trx, nowMs) {
		const [lapsed] = await FIND_LAPSED.run(trx, [nowMs]);
		if (lapsed === undefined) return null;
		const [lanes] = await LOCK_LANES.run(trx, [lapsed.id]);
		// Somebody is writing one of them. Nothing has been changed here yet: the next look takes it over.
		if (lanes === undefined || lanes.locked < lanes.held) return null;
		const [counted] = await INTERRUPT.run(trx, [lapsed.id]);
		await FREE_ALL.run(trx, [lapsed.id, nowMs]);
		await FORGET_HANDOUTS.run(trx, [lapsed.id]);
		await REMOVE_ENGINE.run(trx, [lapsed.id]);
		return { engineId: lapsed.id, interrupted: counted?.interrupted ?? 0 };
	},
	findMissed: (trx, untilMs) => FIND_MISSED.run(trx, [untilMs]),
};

async function idsOf(rows: Promise<readonly { receiverId: number }[]>): Promise<number[]> {
	return (await rows).map(({ receiverId }) => receiverId);
}
