// The hot queue on SQLite: prepared statements on the transaction's own connection (there is only one),
// without leaving the process and without composing SQL for each row.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { EventName } from "../domain/event-name.ts";
import {
	type AttemptRecord,
	type CallbackTarget,
	type DeliveryInHand,
	type DueDelivery,
	type DueRead,
	newDueAtMs,
	type Queue,
	type ReadRequest,
	type Settlement,
	TARGET_SELECT,
} from "./queue.ts";
import { createSqliteLanes, prepareLaneStatements } from "./sqlite-lanes.ts";

export function createSqliteQueue(database: DatabaseSync): Queue {
	// Prepared at first use: the tables may not exist before the migrations have run.
	let statements: Statements | undefined;
	const prepared = (): Statements => {
		statements ??= prepareStatements(database);
		return statements;
	};
	return {
		...createSqliteLanes(prepared),
		settle: async (_trx, settlements) => settle(prepared(), settlements),
		readDue: async (_trx, requests, nowMs) => readDue(prepared(), requests, nowMs),
		async handOut(_trx, engineId, { number, deliveries }, ended, nowMs) {
			const { addHandout, removeHandout } = prepared();
			for (const old of ended) removeHandout.run(engineId, old);
			if (deliveries.length === 0) return;
			const ids = deliveries.map(({ id }) => id).join();
			addHandout.run(engineId, number, nowMs, ids, deliveries.map(({ dueAtMs }) => dueAtMs).join());
		},
		readTargets: async (_trx, receiverIds) => receiverIds.map((id) => readTarget(prepared(), id)),
	};
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: DatabaseSync) {
	const prepare = (text: string): StatementSync => database.prepare(text);
	const findDue = prepare(
		`select q.id, q.receiver_id, e.programme_id, q.due_at_ms, q.endpoint_epoch, q.run, q.counted, q.seq, e.name, e.body
			from queue q join events e on e.id = q.id
			where q.receiver_id = ? and (q.due_at_ms, q.id) > (?, ?) and q.due_at_ms <= ?
			order by q.due_at_ms, q.id limit ?`,
	);
	// What node:sqlite makes of a row by itself is a slow object, for everybody who touches it later, too.
	findDue.setReturnArrays(true);
	return {
		...prepareLaneStatements(database),
		takeFromQueue: prepare("delete from queue where id = ? and due_at_ms = ?"),
		putBack: prepare("update queue set due_at_ms = ? where id = ? and due_at_ms = ?"),
		putBackForRetry: prepare(
			"update queue set due_at_ms = ?, counted = ?, seq = ? where id = ? and due_at_ms = ?",
		),
		finish: prepare(
			`update deliveries set state = ?, attempts = ?, last_verdict = ?, last_http_status = coalesce(?, last_http_status),
				last_attempt_at_ms = ?, finished_at_ms = ? where id = ?`,
		),
		noteFailure: prepare("update deliveries set failed_at_ms = ? where id = ?"),
		noteAttempt: prepare(
			`update deliveries set attempts = ?, last_verdict = ?,
				last_http_status = coalesce(?, last_http_status), last_attempt_at_ms = ? where id = ?`,
		),
		cancel: prepare("update deliveries set state = 'cancelled', finished_at_ms = ? where id = ?"),
		// By name: a later, compatible schema may have more columns.
		addAttempt: prepare(
			`insert into attempts (delivery_id, seq, programme_id, run, result, http_status, detail, started_at_ms,
				took_ms, look_up_ms, connect_ms, tls_ms, answer_ms, endpoint_id, nonce, signature, answer)
				values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		),
		findDue,
		nextDue: prepare("select min(due_at_ms) as due from queue where receiver_id = ? and due_at_ms > ?"),
		addHandout: prepare(
			"insert into handouts (engine_id, number, at_ms, delivery_ids, dues) values (?, ?, ?, ?, ?)",
		),
		removeHandout: prepare("delete from handouts where engine_id = ? and number = ?"),
		findTarget: prepare(`${TARGET_SELECT} where p.id = ?`),
	};
}

function settle(statements: Statements, settlements: readonly Settlement[]): Set<number> {
	const settled = new Set<number>();
	// In the order of the tables: neighbouring pages one after the other, and attempts appended instead of
	// split into the middle.
	const inOrder = [...settlements].sort((a, b) => a.delivery.id - b.delivery.id);
	for (const settlement of inOrder) {
		if (settleOne(statements, settlement)) settled.add(settlement.delivery.id);
	}
	return settled;
}

/** False when it is not in the queue as it was handed out. */
function settleOne(statements: Statements, settlement: Settlement): boolean {
	const { id, dueAtMs: oldDueAtMs, counted, seq } = settlement.delivery;
	switch (settlement.kind) {
		case "finished": {
			if (statements.takeFromQueue.run(id, oldDueAtMs).changes === 0) return false;
			const { state, verdict, attempt, endedAtMs } = settlement;
			const { httpStatus, startedAtMs } = attempt;
			statements.finish.run(state, seq + 1, verdict, httpStatus, startedAtMs, endedAtMs, id);
			if (state === "failed") statements.noteFailure.run(endedAtMs, id);
			addAttempt(statements, settlement.delivery, attempt);
			return true;
		}
		case "retry": {
			const { verdict, attempt } = settlement;
			const dueAtMs = newDueAtMs(settlement);
			const { changes } = statements.putBackForRetry.run(dueAtMs, counted + 1, seq + 1, id, oldDueAtMs);
			if (changes === 0) return false;
			statements.noteAttempt.run(seq + 1, verdict, attempt.httpStatus, attempt.startedAtMs, id);
			addAttempt(statements, settlement.delivery, attempt);
			return true;
		}
		case "released":
			return statements.putBack.run(newDueAtMs(settlement), id, oldDueAtMs).changes !== 0;
		case "cancelled":
			if (statements.takeFromQueue.run(id, oldDueAtMs).changes === 0) return false;
			statements.cancel.run(settlement.endedAtMs, id);
			return true;
		default:
			return settlement satisfies never;
	}
}

function addAttempt(statements: Statements, delivery: DeliveryInHand, attempt: AttemptRecord): void {
	statements.addAttempt.run(
		delivery.id,
		delivery.seq + 1,
		delivery.programmeId,
		delivery.run,
		attempt.result,
		attempt.httpStatus,
		attempt.detail,
		attempt.startedAtMs,
		attempt.tookMs,
		attempt.lookUpMs,
		attempt.connectMs,
		attempt.tlsMs,
		attempt.answerMs,
		attempt.endpointId,
		attempt.nonce,
		attempt.signature,
		attempt.answer,
	);
}

/** The columns of `findDue`. */
type DueRow = [
	id: number,
	receiverId: number,
	programmeId: number,
	dueAtMs: number,
	endpointEpoch: number,
	run: number,
	counted: number,
	seq: number,
	eventName: EventName,
	eventBody: string,
];

function toDelivery(row: DueRow): DueDelivery {
	const [id, receiverId, programmeId, dueAtMs, endpointEpoch, run, counted, seq, eventName, eventBody] = row;
	return { id, receiverId, programmeId, dueAtMs, endpointEpoch, run, counted, seq, eventName, eventBody };
}

function readDue(statements: Statements, requests: readonly ReadRequest[], nowMs: number): DueRead {
	const read: DueRead = { deliveries: [], nextDue: [] };
	for (const { receiverId, afterDueAtMs, afterId, limit } of requests) {
		const rows = statements.findDue.all(receiverId, afterDueAtMs, afterId, nowMs, limit);
		for (const row of rows as unknown as DueRow[]) read.deliveries.push(toDelivery(row));
		if (rows.length >= limit) continue;
		const due = statements.nextDue.get(receiverId, nowMs)?.["due"];
		read.nextDue.push({ receiverId, dueAtMs: typeof due === "number" ? due : null });
	}
	return read;
}

function readTarget(statements: Statements, receiverId: number): CallbackTarget {
	const row = statements.findTarget.get(receiverId) as unknown as CallbackTarget;
	// SQLite has no booleans: it is 0 or 1.
	return { ...row, isFailing: Boolean(row.isFailing) };
}
