// Mails on their way. A mail is a row before it is sent, so that a restart loses none and several processes send each
// once; a claim moves its due time.

import type { Insertable, Selectable } from "kysely";
import type { Db } from "./store.ts";
import type { MailQueueTable } from "./tables/mails.ts";

export type QueuedMail = Selectable<MailQueueTable>;

export async function insertMail(db: Db, mail: Insertable<MailQueueTable>): Promise<void> {
	await db.insertInto("mail_queue").values(mail).execute();
}

/** The one that has been due the longest. */
export async function findDueMail(db: Db, nowMs: number): Promise<QueuedMail | undefined> {
	return db
		.selectFrom("mail_queue")
		.selectAll()
		.where("due_at_ms", "<=", nowMs)
		.orderBy("due_at_ms")
		.limit(1)
		.executeTakeFirst();
}

/** False when another process took it first. `untilMs` is when it may be taken again should this one die. */
export async function claimQueuedMail(db: Db, mail: QueuedMail, untilMs: number): Promise<boolean> {
	const { numUpdatedRows } = await db
		.updateTable("mail_queue")
		.set((eb) => ({ due_at_ms: untilMs, tries: eb("tries", "+", 1) }))
		.where("id", "=", mail.id)
		.where("due_at_ms", "=", mail.due_at_ms)
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

export type MailEnd = { sent_at_ms: number } | { given_up_at_ms: number; refusal: string };

/** Its text goes, the row stays a while: for the next one on its topic, and for staff. */
export async function finishMail(db: Db, id: number, end: MailEnd): Promise<void> {
	await db
		.updateTable("mail_queue")
		.set({ due_at_ms: null, sealed_text: null, ...end })
		.where("id", "=", id)
		.execute();
}

export interface GivenUpMail {
	to_address: string;
	subject: string;
	given_up_at_ms: number | null;
	refusal: string | null;
}

/** The newest first, as long as they are kept. */
export async function listGivenUpMails(db: Db, limit: number): Promise<GivenUpMail[]> {
	return db
		.selectFrom("mail_queue")
		.select(["to_address", "subject", "given_up_at_ms", "refusal"])
		.where("given_up_at_ms", "is not", null)
		.orderBy("given_up_at_ms", "desc")
		.limit(limit)
		.execute();
}

export async function postponeMail(db: Db, id: number, dueAtMs: number): Promise<void> {
	await db.updateTable("mail_queue").set({ due_at_ms: dueAtMs }).where("id", "=", id).execute();
}

/** When the newest mail on this topic was written. */
export async function lastMailOn(db: Db, topic: string): Promise<number | null> {
	const { at } = await db
		.selectFrom("mail_queue")
		.select((eb) => eb.fn.max("created_at_ms").as("at"))
		.where("topic", "=", topic)
		.executeTakeFirstOrThrow();
	return at === null ? null : Number(at);
}

/** Those that were sent or given up, and whatever nobody could send in time. */
export async function pruneMails(db: Db, olderThanMs: number): Promise<void> {
	await db
		.deleteFrom("mail_queue")
		.where("created_at_ms", "<", olderThanMs)
		.where((eb) => eb.or([eb("due_at_ms", "is", null), eb("good_until_ms", "<", olderThanMs)]))
		.execute();
	await db.deleteFrom("changes_to_tell").where("due_at_ms", "<", olderThanMs).execute();
}
