// Notices to a programme's owners: callbacks are failing, callbacks work again.

import { type Insertable, type Selectable, sql } from "kysely";
import type { Verdict } from "../domain/verdict.ts";
import type { Db } from "./store.ts";
import type { NoticesTable } from "./tables/notices.ts";

export type Notice = Selectable<NoticesTable>;

export interface FailureCount {
	programmeId: number;
	failures: number;
	lastDeliveryId: number;
	lastVerdict: Verdict;
	lastHttpStatus: number | null;
}

/** Adds to the programme's open notice, or opens one. */
export async function addFailures(
	trx: Db,
	failure: FailureCount,
	fresh: { publicId: string; mailDueAtMs: number },
	nowMs: number,
): Promise<void> {
	const last = {
		updated_at_ms: nowMs,
		last_delivery_id: failure.lastDeliveryId,
		last_verdict: failure.lastVerdict,
		last_http_status: failure.lastHttpStatus,
	};
	await trx
		.insertInto("notices")
		.values({
			public_id: fresh.publicId,
			receiver_id: failure.programmeId,
			kind: "callbacks_failing",
			opened_at_ms: nowMs,
			failures: failure.failures,
			mailed_failures: 0,
			mail_due_at_ms: fresh.mailDueAtMs,
			...last,
		})
		.onConflict((conflict) =>
			conflict
				.column("receiver_id")
				.where("kind", "=", sql.lit("callbacks_failing"))
				.where("ended_at_ms", "is", null)
				.doUpdateSet((eb) => ({
					...last,
					failures: eb("notices.failures", "+", failure.failures),
					// A mail already planned stays where it is; otherwise this failure plans the next digest.
					mail_due_at_ms: eb.fn.coalesce("notices.mail_due_at_ms", eb.val(fresh.mailDueAtMs)),
				})),
		)
		.execute();
}

/** False when nothing was open: another engine has seen the success first. */
export async function endOpenNotice(trx: Db, programmeId: number, nowMs: number): Promise<boolean> {
	const { numUpdatedRows } = await trx
		.updateTable("notices")
		.set({ ended_at_ms: nowMs, updated_at_ms: nowMs })
		.where("receiver_id", "=", programmeId)
		.where("kind", "=", "callbacks_failing")
		.where("ended_at_ms", "is", null)
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

export async function insertNotice(trx: Db, notice: Insertable<NoticesTable>): Promise<void> {
	await trx.insertInto("notices").values(notice).execute();
}

/** The programme's mail of any kind last went out at … */
export async function lastMailedAtMs(
	db: Db,
	programmeIds: readonly number[],
): Promise<Map<number, number | null>> {
	const rows = await db
		.selectFrom("programmes")
		.select(["id", "last_mailed_at_ms"])
		.where("id", "in", programmeIds)
		.execute();
	return new Map(rows.map((row) => [row.id, row.last_mailed_at_ms]));
}

/** The notices of the programme whose mail has been due the longest: they go together in one mail. */
export async function findNoticesToMail(db: Db, nowMs: number): Promise<Notice[]> {
	const first = await db
		.selectFrom("notices")
		.select("receiver_id")
		.where("mail_due_at_ms", "<=", nowMs)
		.orderBy("mail_due_at_ms")
		.limit(1)
		.executeTakeFirst();
	if (first === undefined) return [];
	return db
		.selectFrom("notices")
		.selectAll()
		.where("receiver_id", "=", first.receiver_id)
		.where("mail_due_at_ms", "is not", null)
		.orderBy("id")
		.execute();
}

/** False when another process took it first. `untilMs` is when it may be taken again should this one die. */
export async function claimMail(db: Db, notice: Notice, untilMs: number): Promise<boolean> {
	const { numUpdatedRows } = await db
		.updateTable("notices")
		.set({ mail_due_at_ms: untilMs })
		.where("id", "=", notice.id)
		.where("mail_due_at_ms", "=", notice.mail_due_at_ms)
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

export interface SentMail {
	/** So many failures have reached the owners; those that came while the mail was under way plan the next one. */
	told: number;
	to: readonly string[];
	atMs: number;
	nextMailAtMs: number;
}

export async function markMailed(db: Db, noticeId: number, mail: SentMail): Promise<void> {
	const { told, nextMailAtMs } = mail;
	await db
		.updateTable("notices")
		.set((eb) => ({
			mailed_failures: told,
			mailed_at_ms: mail.atMs,
			mailed_to: mail.to.join(", "),
			mail_due_at_ms: eb.case().when("failures", ">", told).then(nextMailAtMs).else(eb.lit(null)).end(),
		}))
		.where("id", "=", noticeId)
		.execute();
}

/**
 * Claims the programme's next mail, or gives it back after a failure: sets the time of its last mail if
 * that is still what it was. False when another process was faster.
 */
export async function changeLastMailed(
	db: Db,
	programmeId: number,
	fromMs: number | null,
	toMs: number | null,
): Promise<boolean> {
	const { numUpdatedRows } = await db
		.updateTable("programmes")
		.set({ last_mailed_at_ms: toMs })
		.where("id", "=", programmeId)
		.where("last_mailed_at_ms", fromMs === null ? "is" : "=", fromMs)
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

/** What is due of this programme waits until then. */
export async function postponeMails(
	db: Db,
	programmeId: number,
	nowMs: number,
	untilMs: number,
): Promise<void> {
	await db
		.updateTable("notices")
		.set({ mail_due_at_ms: untilMs })
		.where("receiver_id", "=", programmeId)
		.where("mail_due_at_ms", "<=", nowMs)
		.execute();
}
