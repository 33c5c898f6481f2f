// Mailing a programme's people what its notices say: which mail is due, who sends it, and when it went out.

import { type ShownNotice, selectNotices } from "./notice-list.ts";
import type { Notice } from "./notices.ts";
import type { Db } from "./store.ts";

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
export async function findNoticesToMail(db: Db, nowMs: number): Promise<ShownNotice[]> {
	const first = await db
		.selectFrom("notices")
		.select("receiver_id")
		.where("mail_due_at_ms", "<=", nowMs)
		.orderBy("mail_due_at_ms")
		.limit(1)
		.executeTakeFirst();
	if (first === undefined) return [];
	return selectNotices(db)
		.where("notices.receiver_id", "=", first.receiver_id)
		.where("notices.mail_due_at_ms", "is not", null)
		.orderBy("notices.id")
		.execute();
}

/** False when another process took it first. `untilMs` is when it may be taken again should this one die. */
export async function claimMail(
	db: Db,
	notice: Pick<Notice, "id" | "mail_due_at_ms">,
	untilMs: number,
): Promise<boolean> {
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
	/** Those that the mail server refused for good. */
	refusedTo: readonly string[];
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
			mail_refused_to: mail.refusedTo.length === 0 ? null : mail.refusedTo.join(", "),
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
