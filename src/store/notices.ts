// The trouble of each receiver's callbacks, from the first failed attempt to the success that ends it. Written in the
// pass that stores the results, for all of its receivers together: see domain/notice for the states.

import { type Selectable, sql } from "kysely";
import type { TroubleEnd, WatchedTrouble } from "../domain/notice.ts";
import type { Verdict } from "../domain/verdict.ts";
import type { Db } from "./store.ts";
import type { AttemptResult } from "./tables/deliveries.ts";
import type { NoticesTable } from "./tables/notices.ts";
import { valueList } from "./value-list.ts";

export type Notice = Selectable<NoticesTable>;

/** Attempts of one receiver that failed in a row. */
export interface FailedAttempts {
	receiverId: number;
	attempts: number;
	/** Of them, those with which a delivery finally failed. */
	failures: number;
	firstAtMs: number;
	lastAtMs: number;
	lastDeliveryId: number;
	lastResult: AttemptResult;
	lastVerdict: Verdict;
	lastHttpStatus: number | null;
	lastDetail: string | null;
}

/** An open notice of failing callbacks. */
export interface OpenTrouble extends WatchedTrouble {
	id: number;
	receiverId: number;
	/** Null while it is only watched. */
	toldAtMs: number | null;
}

/** So that the values of one statement stay far below what either database takes. */
const ROWS_A_STATEMENT = 500;

/** Adds to the open notice of each receiver, or opens one that is watched. At most one entry a receiver. */
export async function addFailures(
	trx: Db,
	failed: readonly (FailedAttempts & { publicId: string })[],
): Promise<OpenTrouble[]> {
	const troubles: OpenTrouble[] = [];
	for (let start = 0; start < failed.length; start += ROWS_A_STATEMENT) {
		troubles.push(...(await upsert(trx, failed.slice(start, start + ROWS_A_STATEMENT))));
	}
	return troubles;
}

function upsert(trx: Db, failed: readonly (FailedAttempts & { publicId: string })[]): Promise<OpenTrouble[]> {
	return trx
		.insertInto("notices")
		.values(
			failed.map((row) => ({
				public_id: row.publicId,
				receiver_id: row.receiverId,
				kind: "callbacks_failing" as const,
				opened_at_ms: row.firstAtMs,
				failed_attempts: row.attempts,
				failures: row.failures,
				mailed_failures: 0,
				last_failed_at_ms: row.lastAtMs,
				last_delivery_id: row.lastDeliveryId,
				last_result: row.lastResult,
				last_verdict: row.lastVerdict,
				last_http_status: row.lastHttpStatus,
				last_detail: row.lastDetail,
			})),
		)
		.onConflict((conflict) =>
			conflict
				.column("receiver_id")
				.where("kind", "=", sql.lit("callbacks_failing"))
				.where("ended_at_ms", "is", null)
				.doUpdateSet((eb) => ({
					failed_attempts: eb("notices.failed_attempts", "+", eb.ref("excluded.failed_attempts")),
					failures: eb("notices.failures", "+", eb.ref("excluded.failures")),
					last_failed_at_ms: eb.ref("excluded.last_failed_at_ms"),
					last_delivery_id: eb.ref("excluded.last_delivery_id"),
					last_result: eb.ref("excluded.last_result"),
					last_verdict: eb.ref("excluded.last_verdict"),
					last_http_status: eb.ref("excluded.last_http_status"),
					last_detail: eb.ref("excluded.last_detail"),
				})),
		)
		.returning([
			"id",
			"receiver_id as receiverId",
			"opened_at_ms as openedAtMs",
			"told_at_ms as toldAtMs",
			"failed_attempts as failedAttempts",
			"failures",
		])
		.execute();
}

/** A mail that is already planned stays where it is. */
export async function tellTroubles(
	trx: Db,
	troubles: readonly { id: number; mailDueAtMs: number }[],
	nowMs: number,
): Promise<void> {
	const columns = { id: "bigint", mail_due_at_ms: "bigint" } as const;
	const list = troubles.map(({ id, mailDueAtMs }) => ({ id, mail_due_at_ms: mailDueAtMs }));
	await sql`with ${valueList("news", columns, list)}
		update notices set told_at_ms = coalesce(notices.told_at_ms, cast(${nowMs} as bigint)),
			mail_due_at_ms = coalesce(notices.mail_due_at_ms, news.mail_due_at_ms)
			from news where notices.id = news.id and notices.id in (select id from news)`.execute(trx);
}

/** Those that have been watched since before then, the longest first; where there is no Postback URL any more, too. */
export async function findWatched(
	db: Db,
	openedUntilMs: number,
	limit: number,
): Promise<{ id: number; receiverId: number; hasUrl: boolean }[]> {
	const rows = await db
		.selectFrom("notices")
		.innerJoin("programmes", "programmes.id", "notices.receiver_id")
		.select(["notices.id", "notices.receiver_id as receiverId", "programmes.endpoint_id as endpointId"])
		.where("notices.told_at_ms", "is", null)
		.where("notices.opened_at_ms", "<=", openedUntilMs)
		.orderBy("notices.opened_at_ms")
		.limit(limit)
		.execute();
	return rows.map(({ endpointId, ...row }) => ({ ...row, hasUrl: endpointId !== null }));
}

/** False when it has been told, or has vanished, since it was found. */
export async function tellWatched(db: Db, id: number, mailDueAtMs: number, nowMs: number): Promise<boolean> {
	const { numUpdatedRows } = await db
		.updateTable("notices")
		.set({ told_at_ms: nowMs, mail_due_at_ms: mailDueAtMs })
		.where("id", "=", id)
		.where("told_at_ms", "is", null)
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

export async function forgetWatched(db: Db, id: number): Promise<void> {
	await db.deleteFrom("notices").where("id", "=", id).where("told_at_ms", "is", null).execute();
}

/** Resolves to those that had been told; what was only watched vanishes. */
export async function endTroubles(
	trx: Db,
	receiverIds: readonly number[],
	by: TroubleEnd,
	nowMs: number,
): Promise<{ receiverId: number }[]> {
	const ended = await trx
		.updateTable("notices")
		.set({ ended_at_ms: nowMs, ended_by: by })
		.where("receiver_id", "in", receiverIds)
		// As a literal: only then do both databases use the partial index.
		.where("kind", "=", sql.lit("callbacks_failing"))
		.where("ended_at_ms", "is", null)
		.returning(["id", "receiver_id as receiverId", "told_at_ms as toldAtMs"])
		.execute();
	const watched = ended.filter(({ toldAtMs }) => toldAtMs === null).map(({ id }) => id);
	if (watched.length > 0) await trx.deleteFrom("notices").where("id", "in", watched).execute();
	return ended.filter(({ toldAtMs }) => toldAtMs !== null);
}

/** Callbacks work again. */
export async function addRecoveries(
	trx: Db,
	recoveries: readonly { receiverId: number; publicId: string; mailDueAtMs: number }[],
	nowMs: number,
): Promise<void> {
	await trx
		.insertInto("notices")
		.values(
			recoveries.map(({ receiverId, publicId, mailDueAtMs }) => ({
				public_id: publicId,
				receiver_id: receiverId,
				kind: "callbacks_working_again" as const,
				opened_at_ms: nowMs,
				told_at_ms: nowMs,
				failed_attempts: 0,
				failures: 0,
				mailed_failures: 0,
				mail_due_at_ms: mailDueAtMs,
			})),
		)
		.execute();
}
