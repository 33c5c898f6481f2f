// Leases and lanes on SQLite. One writer at a time: nobody comes between two statements, and what has begun earlier
// has ended.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { NEVER_MS, type Others, type PassBegun, type Queue } from "./queue.ts";

type LaneQueue = Pick<
	Queue,
	"beginPass" | "listLanes" | "readOthers" | "lease" | "shut" | "letGo" | "passOn" | "takeOver" | "findMissed"
>;

/** Whoever has a number ends before the next is given. */
const BEGUN: PassBegun = { transaction: 0, endedBelow: Number.MAX_SAFE_INTEGER };

export function createSqliteLanes(prepared: () => LaneStatements): LaneQueue {
	return {
		async beginPass(_trx, engineId, renewal) {
			const { findEngine, renew } = prepared();
			if (renewal === null) return findEngine.get(engineId) === undefined ? null : BEGUN;
			return renew.run(renewal.goodUntilMs, renewal.held, engineId).changes === 0 ? null : BEGUN;
		},
		listLanes: async (_trx, engineId) =>
			prepared()
				.listLanes.all(engineId)
				.map(({ id }) => Number(id)),
		async readOthers(_trx, engineId, nowMs) {
			const { readOthers } = prepared();
			const found = readOthers.get({ engineId, nowMs }) as unknown as Others;
			// SQLite has no booleans: it is 0 or 1.
			return { ...found, hasLapsed: Boolean(found.hasLapsed) };
		},
		async lease(_trx, engineId, limit, dueBeforeMs) {
			const { findFree, giveLane, nextFree } = prepared();
			const receiverIds = findFree.all(dueBeforeMs, limit).map(({ id }) => Number(id));
			for (const receiverId of receiverIds) giveLane.run(engineId, receiverId);
			const next = nextFree.get(dueBeforeMs)?.["due"];
			return { receiverIds, nextDueAtMs: typeof next === "number" ? next : null };
		},
		shut: async (_trx, engineId, receiverIds) => eachLane(prepared().shut, engineId, receiverIds),
		async letGo(_trx, engineId, receiverIds) {
			const { removeLane, letGo } = prepared();
			return receiverIds.filter(
				(id) => removeLane.run(id, engineId).changes > 0 || letGo.run(id, engineId).changes > 0,
			);
		},
		passOn: async (_trx, engineId, receiverIds, nowMs) =>
			receiverIds.filter((id) => prepared().passOn.run(nowMs, id, engineId).changes > 0),
		async takeOver(_trx, nowMs) {
			const statements = prepared();
			const lapsed = statements.findLapsed.get(nowMs)?.["id"];
			if (typeof lapsed !== "number") return null;
			const interrupted = interruptAll(statements, lapsed);
			statements.freeAll.run(nowMs, lapsed);
			statements.forgetHandouts.run(lapsed);
			statements.removeEngine.run(lapsed);
			return { engineId: lapsed, interrupted };
		},
		findMissed: async (_trx, untilMs) =>
			prepared().findMissed.all(untilMs) as unknown as { receiverId: number; dueAtMs: number }[],
	};
}

export type LaneStatements = ReturnType<typeof prepareLaneStatements>;

export function prepareLaneStatements(database: DatabaseSync) {
	const prepare = (text: string): StatementSync => database.prepare(text);
	const firstDue = "(select min(q.due_at_ms) from queue q where q.receiver_id = lanes.receiver_id)";
	const due = `min(next_due_ms, coalesce(${firstDue}, ${NEVER_MS}))`;
	return {
		findEngine: prepare("select id from engines where id = ?"),
		renew: prepare("update engines set good_until_ms = ?, held = ? where id = ?"),
		listLanes: prepare("select receiver_id as id from lanes where engine_id = ?"),
		readOthers: prepare(
			`select count(*) filter (where good_until_ms >= :nowMs and id <> :engineId) as count,
				coalesce(sum(held) filter (where good_until_ms >= :nowMs and id <> :engineId), 0) as held,
				count(*) filter (where good_until_ms < :nowMs and id <> :engineId) > 0 as "hasLapsed",
				(select count(*) from lanes where engine_id is null and next_due_ms <= :nowMs) as waiting,
				(select min(next_due_ms) from lanes where engine_id is null and next_due_ms <= :nowMs) as "waitingSinceMs"
				from engines`,
		),
		findFree: prepare(
			`select receiver_id as id from lanes where engine_id is null and next_due_ms <= ?
				order by next_due_ms limit ?`,
		),
		giveLane: prepare("update lanes set engine_id = ? where receiver_id = ?"),
		nextFree: prepare(
			"select min(next_due_ms) as due from lanes where engine_id is null and next_due_ms > ?",
		),
		shut: prepare(
			`update lanes set next_due_ms = coalesce(${firstDue}, ${NEVER_MS}) where receiver_id = ? and engine_id = ?`,
		),
		removeLane: prepare(`delete from lanes where receiver_id = ? and engine_id = ? and ${due} = ${NEVER_MS}`),
		// It never becomes due later than it says: only `shut` may do that.
		letGo: prepare(
			`update lanes set engine_id = null, next_due_ms = ${due} where receiver_id = ? and engine_id = ?`,
		),
		passOn: prepare(
			"update lanes set engine_id = null, next_due_ms = ? where receiver_id = ? and engine_id = ?",
		),
		findLapsed: prepare("select id from engines where good_until_ms < ? order by id limit 1"),
		listHandouts: prepare(
			"select delivery_ids, dues, at_ms from handouts where engine_id = ? order by number",
		),
		countInterrupted: prepare(
			`update queue set seq = seq + 1 where id = ? and due_at_ms = ? returning run, seq`,
		),
		addInterrupted: prepare(
			`insert into attempts (delivery_id, seq, programme_id, run, result, started_at_ms)
				values (?, ?, ?, ?, 'interrupted', ?)`,
		),
		noteInterrupted: prepare(
			"update deliveries set attempts = ?, interrupted = interrupted + 1 where id = ? returning programme_id",
		),
		freeAll: prepare("update lanes set engine_id = null, next_due_ms = ? where engine_id = ?"),
		forgetHandouts: prepare("delete from handouts where engine_id = ?"),
		removeEngine: prepare("delete from engines where id = ?"),
		// Jumps from receiver to receiver along the index instead of reading every row.
		findMissed: prepare(
			`with recursive receiver(id) as (
				select min(receiver_id) from queue
				union all
				select (select min(receiver_id) from queue where receiver_id > receiver.id)
					from receiver where receiver.id is not null),
			first(id, due) as (
				select id, (select min(due_at_ms) from queue where receiver_id = receiver.id) from receiver
					where id is not null)
			select first.id as "receiverId", first.due as "dueAtMs"
				from first left join lanes on lanes.receiver_id = first.id
				where lanes.receiver_id is null or (lanes.engine_id is null and lanes.next_due_ms > max(first.due, ?))`,
		),
	};
}

function eachLane(statement: StatementSync, engineId: number, receiverIds: readonly number[]): number[] {
	return receiverIds.filter((receiverId) => statement.run(receiverId, engineId).changes > 0);
}

/** What was in hand and never settled may have reached the shop: it is one more attempt in the log. */
function interruptAll(statements: LaneStatements, engineId: number): number {
	// A pass that failed without a word may have left a delivery in two handouts: it was in hand once.
	const inHand = new Map<string, number>();
	for (const row of statements.listHandouts.all(engineId)) {
		const ids = String(row["delivery_ids"]).split(",");
		const dues = String(row["dues"]).split(",");
		for (const [index, id] of ids.entries()) inHand.set(`${id} ${dues[index]}`, Number(row["at_ms"]));
	}
	let interrupted = 0;
	for (const [pair, atMs] of inHand) {
		const [id = 0, dueAtMs = 0] = pair.split(" ").map(Number);
		const row = statements.countInterrupted.get(id, dueAtMs);
		if (row === undefined) continue;
		const { run = 0, seq = 0 } = row;
		const { programme_id: programmeId = 0 } = statements.noteInterrupted.get(seq, id) ?? {};
		statements.addInterrupted.run(id, seq, programmeId, run, atMs);
		interrupted++;
	}
	return interrupted;
}
