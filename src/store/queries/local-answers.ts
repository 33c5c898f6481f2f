// Who listens to a programme's events, and what they told of them.

import { announcedBy } from "../../domain/conversion.ts";
import type { EventName } from "../../domain/event-name.ts";
import type { LocalAnswer } from "../../domain/local-answer.ts";
import type { Db } from "../store.ts";

export interface ToldAnswer extends LocalAnswer {
	/** Its public id. */
	conversionId: string;
	event: EventName;
}

export type StoredLocalAnswer = Awaited<ReturnType<typeof listNewestAnswers>>[number];

/** A stream of this programme's events is open at this moment. */
export async function noteListener(db: Db, programmeId: number, nowMs: number): Promise<void> {
	await db
		.insertInto("listeners")
		.values({ programme_id: programmeId, seen_at_ms: nowMs, closed_at_ms: null })
		.onConflict((conflict) =>
			conflict
				.column("programme_id")
				.doUpdateSet({ seen_at_ms: nowMs })
				.where("listeners.seen_at_ms", "<", nowMs),
		)
		.execute();
}

/** Its reader closed it. Another one of the same programme counts again from its next sign of life on. */
export async function noteListenerGone(db: Db, programmeId: number, nowMs: number): Promise<void> {
	await db
		.updateTable("listeners")
		.set({ closed_at_ms: nowMs })
		.where("programme_id", "=", programmeId)
		.execute();
}

/** Undefined where nobody ever did. */
export async function findListener(db: Db, programmeId: number) {
	return db
		.selectFrom("listeners")
		.select(["seen_at_ms as seenAtMs", "closed_at_ms as closedAtMs"])
		.where("programme_id", "=", programmeId)
		.executeTakeFirst();
}

/** Of these conversions, the events of the programme that were announced: `cnv_… conversion.approved`. */
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
	programmeId: number,
	answers: readonly ToldAnswer[],
	nowMs: number,
): Promise<void> {
	if (answers.length === 0) return;
	const rows = answers.map(({ conversionId, event, outcome, httpStatus, code, tookMs }) => ({
		programme_id: programmeId,
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

/** Along local_answers_by_programme. */
export async function listNewestAnswers(db: Db, programmeId: number, limit: number) {
	return selectAnswers(db)
		.where("programme_id", "=", programmeId)
		.orderBy("id", "desc")
		.limit(limit)
		.execute();
}

/** Of each event the latest, in the order in which they were told. Along local_answers_by_conversion. */
export async function listAnswersOf(
	db: Db,
	conversionId: string,
	limit: number,
): Promise<StoredLocalAnswer[]> {
	const rows = await selectAnswers(db)
		.where("conversion", "=", conversionId)
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
			"event",
			"outcome",
			"http_status as httpStatus",
			"code",
			"took_ms as tookMs",
			"at_ms as atMs",
		]);
}
