// Data of `ringback listen`: who reads the event stream of a receiver, and how the developer's own server answered
// the events.

import { announcedBy } from "../../domain/conversion.ts";
import type { EventName } from "../../domain/event-name.ts";
import type { LocalAnswer } from "../../domain/local-answer.ts";
import type { ReceiverId } from "../../domain/receiver.ts";
import type { Db } from "../store.ts";

export interface ReportedAnswer extends LocalAnswer {
	conversionId: string;
	event: EventName;
}

export type StoredLocalAnswer = Awaited<ReturnType<typeof listNewestAnswers>>[number];

/** Stores that a stream of this receiver's events is open now. */
export async function storeListener(db: Db, receiverId: ReceiverId, nowMs: number): Promise<void> {
	await db
		.insertInto("listeners")
		.values({ receiver_id: receiverId, seen_at_ms: nowMs, closed_at_ms: null })
		.onConflict((conflict) =>
			conflict
				.column("receiver_id")
				.doUpdateSet({ seen_at_ms: nowMs })
				.where("listeners.seen_at_ms", "<", nowMs),
		)
		.execute();
}

/**
 * Stores that a stream was closed. If the receiver has another open stream, the next report of that stream stores it
 * as open again.
 */
export async function storeListenerEnd(db: Db, receiverId: ReceiverId, nowMs: number): Promise<void> {
	await db
		.updateTable("listeners")
		.set({ closed_at_ms: nowMs })
		.where("receiver_id", "=", receiverId)
		.execute();
}

/** Returns the listener of the receiver, or undefined if nobody ever listened. */
export async function findListener(db: Db, receiverId: ReceiverId) {
	return db
		.selectFrom("listeners")
		.select(["seen_at_ms as seenAtMs", "closed_at_ms as closedAtMs"])
		.where("receiver_id", "=", receiverId)
		.executeTakeFirst();
}

/** Returns the events of a programme's conversions that were announced, in the form `cnv_… conversion.approved`. */
export async function findAnnounced(
	db: Db,
	programmeId: number,
	conversionIds: readonly string[],
): Promise<ReadonlySet<string>> {
	const rows = await db
		.selectFrom("conversions")
		.innerJoin("moves", "moves.conversion_id", "conversions.id")
		.select(["conversions.public_id as conversionId", "moves.move"])
		.where("conversions.programme_id", "=", programmeId)
		.where("conversions.public_id", "in", conversionIds)
		.execute();
	return new Set(rows.map(({ conversionId, move }) => `${conversionId} ${announcedBy(move)}`));
}

export async function insertLocalAnswers(
	trx: Db,
	receiverId: ReceiverId,
	answers: readonly ReportedAnswer[],
	nowMs: number,
): Promise<void> {
	if (answers.length === 0) return;
	const rows = answers.map(({ conversionId, event, outcome, httpStatus, code, tookMs }) => ({
		receiver_id: receiverId,
		conversion: conversionId,
		event,
		outcome,
		http_status: httpStatus,
		code,
		took_ms: tookMs,
		at_ms: nowMs,
	}));
	await trx.insertInto("local_answers").values(rows).execute();
}

/** Lists the newest answers to a receiver's events. Uses the index local_answers_by_receiver. */
export async function listNewestAnswers(db: Db, receiverId: ReceiverId, limit: number) {
	return selectAnswers(db).where("receiver_id", "=", receiverId).orderBy("id", "desc").limit(limit).execute();
}

/**
 * Returns the latest answer to each event, in the order in which the answers arrived. Uses the index
 * local_answers_by_conversion.
 */
export async function listAnswersOf(
	db: Db,
	receiverId: ReceiverId,
	conversionId: string,
	limit: number,
): Promise<StoredLocalAnswer[]> {
	const rows = await selectAnswers(db)
		.where("conversion", "=", conversionId)
		.where("receiver_id", "=", receiverId)
		.orderBy("id", "desc")
		.limit(limit)
		.execute();
	const latest = new Map(rows.toReversed().map((row) => [row.event, row]));
	return [...latest.values()].sort((a, b) => a.id - b.id);
}

function selectAnswers(db: Db) {
	return db
		.selectFrom("local_answers")
		.select([
			"id",
			"conversion",
			"event",
			"outcome",
			"http_status as httpStatus",
			"code",
			"took_ms as tookMs",
			"at_ms as atMs",
		]);
}
