// The hot queue on SQLite: prepared statements on the transaction's own connection (there is only one),
// without leaving the process and without composing SQL for each row.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
	type AgendaRow,
	type AttemptRecord,
	type CallbackTarget,
	CLAIM_LAPSE_MS,
	type Claimed,
	type ClaimRequest,
	type DeliveryClaim,
	type Queue,
	type Settlement,
	TARGET_SELECT,
	type TakenRow,
	toClaimed,
} from "./queue.ts";

export function createSqliteQueue(database: DatabaseSync): Queue {
	// Prepared at first use: the tables may not exist before the migrations have run.
	let statements: Statements | undefined;
	const prepared = (): Statements => {
		statements ??= prepareStatements(database);
		return statements;
	};
	return {
		settle: async (_trx, settlements) => settle(prepared(), settlements),
		claim: async (_trx, requests, claim, nowMs) => claimDue(prepared(), requests, claim, nowMs),
		readTargets: async (_trx, programmeIds) => programmeIds.map((id) => readTarget(prepared(), id)),
		agenda: async () => prepared().agenda.all() as unknown as AgendaRow[],
	};
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: DatabaseSync) {
	const prepare = (text: string): StatementSync => database.prepare(text);
	return {
		takeFromQueue: prepare("delete from queue where id = ? and claim = ?"),
		putBack: prepare("update queue set due_at_ms = ?, claim = null where id = ? and claim = ?"),
		putBackForRetry: prepare(
			"update queue set due_at_ms = ?, claim = null, counted = ?, seq = ? where id = ? and claim = ?",
		),
		finish: prepare(
			`update deliveries set state = ?, attempts = ?, last_verdict = ?, last_http_status = ?,
				last_attempt_at_ms = ?, finished_at_ms = ? where id = ?`,
		),
		noteFailure: prepare("update deliveries set failed_at_ms = ? where id = ?"),
		noteAttempt: prepare(
			`update deliveries set attempts = ?, last_verdict = ?, last_http_status = ?, last_attempt_at_ms = ?
				where id = ?`,
		),
		cancel: prepare("update deliveries set state = 'cancelled', finished_at_ms = ? where id = ?"),
		// By name: a later, compatible schema may have more columns.
		addAttempt: prepare(
			`insert into attempts (delivery_id, seq, programme_id, run, result, http_status, detail, started_at_ms, took_ms, look_up_ms,
				connect_ms, tls_ms, answer_ms, endpoint_id, nonce, signature)
				values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		),
		addInterrupted: prepare(
			`insert into attempts (delivery_id, seq, programme_id, run, result, started_at_ms) values (?, ?, ?, ?, 'interrupted', ?)`,
		),
		noteInterrupted: prepare("update deliveries set attempts = ? where id = ?"),
		countInterrupted: prepare("update queue set seq = ? where id = ?"),
		findDue: prepare(
			`select q.id, q.receiver_id as "programmeId", q.due_at_ms as "oldDueAtMs", q.claim as "oldClaim",
				q.endpoint_epoch as "endpointEpoch", q.run, q.counted, q.seq, e.name as "eventName", e.body as "eventBody"
				from queue q join events e on e.id = q.id
				where q.receiver_id = ? and q.due_at_ms <= ? order by q.due_at_ms limit ?`,
		),
		// All of a pass at once: a call for each row would cost more than the row.
		markClaimed: prepare(
			"update queue set claim = ?, due_at_ms = ? where id in (select value from json_each(?))",
		),
		findTarget: prepare(`${TARGET_SELECT} where p.id = ?`),
		firstDue: prepare("select min(due_at_ms) as due from queue where receiver_id = ?"),
		// Jumps from programme to programme along the index instead of reading every row.
		agenda: prepare(
			`with recursive programme(id) as (
				select min(receiver_id) from queue
				union all
				select (select min(receiver_id) from queue where receiver_id > programme.id)
					from programme where programme.id is not null)
			select id as "programmeId", (select min(due_at_ms) from queue where receiver_id = programme.id) as "dueAtMs"
				from programme where id is not null`,
		),
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

function settleOne(statements: Statements, settlement: Settlement): boolean {
	const { id, claim, counted, seq } = settlement.delivery;
	switch (settlement.kind) {
		case "finished": {
			if (statements.takeFromQueue.run(id, claim).changes === 0) return false;
			const { state, verdict, attempt, endedAtMs } = settlement;
			const { httpStatus, startedAtMs } = attempt;
			statements.finish.run(state, seq + 1, verdict, httpStatus, startedAtMs, endedAtMs, id);
			if (state === "failed") statements.noteFailure.run(endedAtMs, id);
			addAttempt(statements, settlement.delivery, attempt);
			return true;
		}
		case "retry": {
			const { dueAtMs, verdict, attempt } = settlement;
			if (statements.putBackForRetry.run(dueAtMs, counted + 1, seq + 1, id, claim).changes === 0)
				return false;
			statements.noteAttempt.run(seq + 1, verdict, attempt.httpStatus, attempt.startedAtMs, id);
			addAttempt(statements, settlement.delivery, attempt);
			return true;
		}
		case "released":
			return statements.putBack.run(settlement.dueAtMs, id, claim).changes !== 0;
		case "cancelled":
			if (statements.takeFromQueue.run(id, claim).changes === 0) return false;
			statements.cancel.run(settlement.endedAtMs, id);
			return true;
		default:
			return settlement satisfies never;
	}
}

function addAttempt(statements: Statements, delivery: DeliveryClaim, attempt: AttemptRecord): void {
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
	);
}

function claimDue(
	statements: Statements,
	requests: readonly ClaimRequest[],
	claim: number,
	nowMs: number,
): Claimed {
	const claimed: Claimed = { deliveries: [], nextDue: [] };
	const unfilled: number[] = [];
	for (const { programmeId, limit } of requests) {
		const rows = statements.findDue.all(programmeId, nowMs, limit) as unknown as TakenRow[];
		for (const row of rows) {
			if (row.oldClaim !== null) recordInterrupted(statements, row);
			claimed.deliveries.push(toClaimed(row, claim, nowMs));
		}
		if (rows.length < limit) unfilled.push(programmeId);
	}
	// In the order of the table, as in `settle`.
	const ids = claimed.deliveries.map((delivery) => delivery.id).sort((a, b) => a - b);
	statements.markClaimed.run(claim, nowMs + CLAIM_LAPSE_MS, JSON.stringify(ids));
	for (const programmeId of unfilled) {
		const { due } = statements.firstDue.get(programmeId) as { due: number | null };
		claimed.nextDue.push({ programmeId, dueAtMs: due });
	}
	return claimed;
}

/** The attempt of a process that died may have reached the shop: it counts as one more in the log. */
function recordInterrupted(statements: Statements, row: TakenRow): void {
	row.seq++;
	statements.addInterrupted.run(row.id, row.seq, row.programmeId, row.run, row.oldDueAtMs - CLAIM_LAPSE_MS);
	statements.noteInterrupted.run(row.seq, row.id);
	statements.countInterrupted.run(row.seq, row.id);
}

function readTarget(statements: Statements, programmeId: number): CallbackTarget {
	const row = statements.findTarget.get(programmeId) as unknown as CallbackTarget;
	// SQLite has no booleans: it is 0 or 1.
	return { ...row, isFailing: Boolean(row.isFailing) };
}
