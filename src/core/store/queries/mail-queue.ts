// Queue of mails. A mail is stored before it is sent, so that a restart loses no mail. Several processes share the
// queue without sending a mail twice, because a process claims a mail by changing its due time.

import type { Insertable, Selectable } from "kysely";
import type { Db } from "../store.ts";
import type { MailQueueTable } from "../tables/notices.ts";

export type QueuedMail = Selectable<MailQueueTable>;

export async function insertMail(db: Db, mail: Insertable<MailQueueTable>): Promise<void> {
	await db.insertInto("mail_queue").values(mail).execute();
}

export async function findDueMail(db: Db, nowMs: number): Promise<QueuedMail | undefined> {
	return db
		.selectFrom("mail_queue")
		.selectAll()
		.where("due_at_ms", "<=", nowMs)
		.orderBy("due_at_ms")
		.limit(1)
		.executeTakeFirst();
}

/**
 * Claims a mail. Returns false if another process was faster. After `untilMs` another process may claim the mail, in
 * case this process dies.
 */
export async function claimQueuedMail(db: Db, mail: QueuedMail, untilMs: number): Promise<boolean> {
	const { numUpdatedRows } = await db
		.updateTable("mail_queue")
		.set({ due_at_ms: untilMs })
		.where("id", "=", mail.id)
		.where("due_at_ms", "=", mail.due_at_ms)
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

export type MailEnd = { sent_at_ms: number } | { given_up_at_ms: number; refusal: string };

/**
 * Deletes the text of a mail that was sent or given up. The row stays for a while, because the System page shows it
 * and because it determines the earliest time of the next mail on the same topic.
 */
export async function finishMail(db: Db, id: number, end: MailEnd): Promise<void> {
	await db
		.updateTable("mail_queue")
		.set({ due_at_ms: null, sealed_text: null, ...end })
		.where("id", "=", id)
		.execute();
}

export async function postponeMail(
	db: Db,
	id: number,
	next: { due_at_ms: number; tries: number; refusal: string },
): Promise<void> {
	await db.updateTable("mail_queue").set(next).where("id", "=", id).execute();
}

const STATE_COLUMNS = [
	"to_address",
	"subject",
	"created_at_ms",
	"due_at_ms",
	"tries",
	"sent_at_ms",
	"given_up_at_ms",
	"refusal",
] as const;

export type MailState = Pick<QueuedMail, (typeof STATE_COLUMNS)[number]>;

/**
 * Returns mails that the server did not accept. Mails that are retried come first, then those that were given up, both
 * with the newest first.
 */
export async function listUnsentMails(db: Db, limit: number): Promise<MailState[]> {
	const mails = db.selectFrom("mail_queue").select(STATE_COLUMNS).limit(limit);
	const tried = mails
		.where("due_at_ms", "is not", null)
		.where("refusal", "is not", null)
		.orderBy("due_at_ms");
	const givenUp = mails.where("given_up_at_ms", "is not", null).orderBy("given_up_at_ms", "desc");
	return [...(await tried.execute()), ...(await givenUp.execute())].slice(0, limit);
}

/**
 * Maximum number of mails that are read for a topic. It is larger than the number of mails that are written for a
 * topic at the same moment.
 */
const MAX_ON_TOPIC = 200;

/** Returns the mails on a topic that retention has not removed yet, the newest first. */
export async function listMailsOn(db: Db, topic: string): Promise<MailState[]> {
	return db
		.selectFrom("mail_queue")
		.select(STATE_COLUMNS)
		.where("topic", "=", topic)
		.orderBy("created_at_ms", "desc")
		.limit(MAX_ON_TOPIC)
		.execute();
}
