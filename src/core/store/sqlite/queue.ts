// Queue on SQLite. It uses prepared statements on the only connection, which is also the connection of the
// transaction. SQLite has one writer at a time, so no other writer can change anything between two statements.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { sql } from "kysely";
import type { EventName } from "../../domain/event-name.ts";
import { SLOT_STEP, SLOTS } from "../../domain/slot.ts";
import { SECOND_MS } from "../../domain/time.ts";
import { addCallbackCounts, type CallbackCount } from "../queries/delivery-health.ts";
import {
	ATTEMPT_COLUMNS,
	type CallbackTarget,
	countedQuarterMs,
	type DueRead,
	type FirstDue,
	type Queue,
	type ReadRequest,
	type Settlement,
	settledValues,
	TARGET_SELECT,
} from "../queries/queue.ts";
import { createSlotQueue } from "../queries/slot-queue.ts";
import type { EngineLock } from "./engine-lock.ts";

/**
 * Interval at which an engine checks whether the process of another engine on the same file has ended. Each check is
 * a transaction.
 */
const LOOK_FOR_END_MS = SECOND_MS;

/** Creates the queue. Without a lock, only the end of the lease shows that another engine has ended. */
export function createSqliteQueue(database: DatabaseSync, lock: EngineLock | null = null): Queue {
	// Statements are prepared at first use, because the tables may not exist before the migrations have run.
	let statements: Statements | undefined;
	const prepared = (): Statements => {
		statements ??= prepareStatements(database);
		return statements;
	};
	let lastVersion: unknown;
	// No lock clause is needed, because with one writer at a time no other engine can have locked a row. The only clock
	// is the machine's clock.
	const slotQueue = createSlotQueue(
		(nowMs) => sql.lit(nowMs),
		sql``,
		sql``,
		() => lock?.findEnded() ?? [],
	);
	return {
		...slotQueue,
		register(db, engineId, ...rest) {
			lock?.note(engineId);
			return slotQueue.register(db, engineId, ...rest);
		},
		async readSlots(...request) {
			const overview = await slotQueue.readSlots(...request);
			const { nextSilentInMs } = overview;
			if (lock === null || nextSilentInMs === null || lock.findEnded() !== null) return overview;
			return { ...overview, nextSilentInMs: Math.min(nextSilentInMs, LOOK_FOR_END_MS) };
		},
		async settle(trx, _engineId, settlements) {
			const ids = settle(prepared(), settlements);
			await addCallbackCounts(trx, countQuarters(settlements.filter(({ delivery }) => ids.has(delivery.id))));
			return ids;
		},
		readFirstDue: async (_trx, slots) =>
			prepared().readFirstDue.all(JSON.stringify(slots)) as unknown as FirstDue[],
		readDue: async (_trx, requests, nowMs) => readDue(prepared(), requests, nowMs),
		readTargets: async (_trx, receiverIds) =>
			receiverIds.map((id) => toTarget<CallbackTarget>(prepared().findTarget.get(id))),
		hasChangedElsewhere() {
			const { data_version: version } = prepared().dataVersion.get() ?? {};
			const hasChanged = lastVersion !== undefined && version !== lastVersion;
			lastVersion = version;
			return hasChanged;
		},
	};
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: DatabaseSync) {
	const prepare = (text: string): StatementSync => database.prepare(text);
	const findDue = prepare(
		`select q.id, q.due_at_ms, q.endpoint_epoch, q.run, q.counted, q.seq, e.name, e.body
			from queue q join events e on e.id = q.id
			where q.receiver_id = ? and (q.due_at_ms, q.id) > (?, ?) and q.due_at_ms <= ?
			order by q.due_at_ms, q.id limit ?`,
	);
	// By default, node:sqlite returns each row as an object, which is slow to create and slow to read later.
	findDue.setReturnArrays(true);
	return {
		readFirstDue: prepare(
			`with recursive receiver(id) as (
				select min(receiver_id) from queue
				union all
				select (select min(receiver_id) from queue where receiver_id > receiver.id)
					from receiver where receiver.id is not null)
			select q.receiver_id as "receiverId", q.id, q.due_at_ms as "dueAtMs" from receiver
				join queue q on q.id = (select id from queue where receiver_id = receiver.id
					order by due_at_ms, id limit 1)
				where (receiver.id * ${SLOT_STEP}) % ${SLOTS} in (select value from json_each(?))`,
		),
		takeFromQueue: prepare("delete from queue where id = ? and due_at_ms = ?"),
		putBack: prepare("update queue set due_at_ms = ?, counted = ?, seq = ? where id = ? and due_at_ms = ?"),
		addUndelivered: prepare(
			"insert into undelivered (id, receiver_id, state, run, ended_at_ms) values (?, ?, ?, ?, ?)",
		),
		addAttempt: prepare(
			`insert into attempts (${ATTEMPT_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		),
		findDue,
		nextDue: prepare("select min(due_at_ms) as due from queue where receiver_id = ? and due_at_ms > ?"),
		findTarget: prepare(`${TARGET_SELECT} where r.id = ?`),
		dataVersion: prepare("pragma data_version"),
	};
}

function settle(statements: Statements, settlements: readonly Settlement[]): Set<number> {
	const settled = new Set<number>();
	// Results are stored in the order of the delivery ids. Neighbouring pages are then written one after the other, and attempts
	// are appended to their table.
	const inOrder = [...settlements].sort((a, b) => a.delivery.id - b.delivery.id);
	for (const settlement of inOrder) {
		if (settleOne(statements, settlement)) settled.add(settlement.delivery.id);
	}
	return settled;
}

function countQuarters(settled: readonly Settlement[]): CallbackCount[] {
	const counts = new Map<string, CallbackCount>();
	for (const settlement of settled) {
		const quarterMs = countedQuarterMs(settlement);
		if (quarterMs === null || settlement.kind === "cancelled") continue;
		const { receiverId } = settlement.delivery;
		const none = { receiverId, quarterMs, delivered: 0, failed: 0 };
		const count = counts.getOrInsert(`${receiverId} ${quarterMs}`, none);
		if (settlement.verdict === "delivered") count.delivered++;
		else count.failed++;
	}
	return [...counts.values()];
}

/** Stores one result. Returns false if the row in the queue has changed or is gone since it was read. */
function settleOne(statements: Statements, settlement: Settlement): boolean {
	const { id, receiverId, dueAtMs: oldDueAtMs, run, counted, seq } = settlement.delivery;
	const { undeliveredState, dueAtMs, attempt } = settledValues(settlement);
	const { changes } =
		dueAtMs === null
			? statements.takeFromQueue.run(id, oldDueAtMs)
			: statements.putBack.run(dueAtMs, counted + 1, seq + 1, id, oldDueAtMs);
	if (changes === 0) return false;
	if (attempt !== null) statements.addAttempt.run(...attempt);
	if (undeliveredState !== null) {
		statements.addUndelivered.run(id, receiverId, undeliveredState, run, settlement.endedAtMs);
	}
	return true;
}

type DueRow = [
	id: number,
	dueAtMs: number,
	endpointEpoch: number,
	run: number,
	counted: number,
	seq: number,
	eventName: EventName,
	eventBody: string,
];

function readDue(statements: Statements, requests: readonly ReadRequest[], nowMs: number): DueRead {
	const read: DueRead = { deliveries: [], nextDue: [] };
	for (const { receiverId, afterDueAtMs, afterId, limit } of requests) {
		const rows = statements.findDue.all(receiverId, afterDueAtMs, afterId, nowMs, limit);
		for (const row of rows as unknown as DueRow[]) {
			const [id, dueAtMs, endpointEpoch, run, counted, seq, eventName, eventBody] = row;
			read.deliveries.push({
				id,
				receiverId,
				dueAtMs,
				endpointEpoch,
				run,
				counted,
				seq,
				eventName,
				eventBody,
			});
		}
		if (rows.length >= limit) continue;
		const due = statements.nextDue.get(receiverId, nowMs)?.["due"];
		read.nextDue.push({ receiverId, dueAtMs: typeof due === "number" ? due : null });
	}
	return read;
}

/** Converts a row to a target. SQLite has no booleans, so `isFailing` is 0 or 1 in the row. */
function toTarget<Target extends CallbackTarget>(row: object = {}): Target {
	const target = row as Target;
	return { ...target, isFailing: Boolean(target.isFailing) };
}
