// Tells a programme's owners and developers by mail what the notices on the page say: at once for the first, then one
// digest in fifteen minutes. A notice is marked as mailed only after the server took the mail. People whose times are
// written in different zones get mails of their own: if the server takes some of these, the others go into the queue of
// mails with the mark, in one transaction, so that everybody is told and nobody twice, whoever dies meanwhile.

import { MAIL_INTERVAL_MS, mailDueAtMs } from "../domain/notice.ts";
import { DAY_MS, MINUTE_MS } from "../domain/time.ts";
import type { Clock, Log, Mail, Mailer, MailRefusal } from "../ports.ts";
import { countUndelivered } from "../store/delivery-health.ts";
import type { ShownNotice } from "../store/notice-list.ts";
import {
	changeLastMailed,
	claimMail,
	findNoticesToMail,
	markMailed,
	postponeMails,
} from "../store/notice-mails.ts";
import { type Addressee, addresseesOf } from "../store/programme-people.ts";
import { findProgrammesById } from "../store/programmes.ts";
import type { Db, Store } from "../store/store.ts";
import { composeNoticeMail, type NoticeMailView } from "./notice-mail.ts";

export interface MailNoticesDeps {
	store: Store;
	clock: Clock;
	log: Log;
	mailer: Mailer;
	mails: MailQueue;
	publicUrl: string;
}

/** Keeps a mail in the database and has it tried until the server takes it, or it is no news any more. */
export interface MailQueue {
	enqueue(trx: Db, mail: { to: string; subject: string; text: string; goodForMs: number }): Promise<void>;
}

export const MAILED_ROLES = ["owner", "developer"] as const;
/** While a mail is under way, and when the mail server did not take it. */
const MAIL_CLAIM_MS = MINUTE_MS;
/** Per round, so that other work gets its time; the next round takes the rest. */
const MAX_MAILS_A_ROUND = 50;
/** Longer than the queue tries for, which is about a day. */
const LATE_MAIL_GOOD_FOR_MS = 2 * DAY_MS;

export async function mailNotices(deps: MailNoticesDeps, isStopping: () => boolean): Promise<void> {
	// A stop waits for the mail under way and no other: each may take as long as the mail server likes.
	for (let sent = 0; sent < MAX_MAILS_A_ROUND && !isStopping(); sent++) {
		const notices = await findNoticesToMail(deps.store.db, deps.clock.nowMs());
		if (notices.length === 0) break;
		await mailOne(deps, notices);
	}
}

async function mailOne(deps: MailNoticesDeps, found: readonly ShownNotice[]): Promise<void> {
	const { store, clock, log, mails } = deps;
	const programmeId = found[0]?.receiver_id;
	if (programmeId === undefined) return;
	const programme = (await findProgrammesById(store.db, [programmeId])).get(programmeId);
	const kinds = new Set(found.map(({ kind }) => kind));
	const readers = await addresseesOf(store.db, programmeId, MAILED_ROLES, [...kinds]);
	const nowMs = clock.nowMs();
	// The page tells those who want no mail.
	if (readers.length === 0 && (await addresseesOf(store.db, programmeId, MAILED_ROLES)).length > 0) {
		return store.transact((trx) => markAll(trx, found, [], nowMs));
	}
	if (programme === undefined || readers.length === 0) {
		log.error({ programmeId }, "a programme has nobody to mail its notices to; they stay on record");
		await postponeMails(store.db, programmeId, nowMs, nowMs + MAIL_INTERVAL_MS);
		return;
	}
	const lastMailedAtMs = programme.last_mailed_at_ms;
	const allowedAtMs = mailDueAtMs(nowMs, lastMailedAtMs);
	if (allowedAtMs > nowMs) {
		await postponeMails(store.db, programmeId, nowMs, allowedAtMs);
		return;
	}
	// Written before the mail goes out: one that is planned meanwhile, here or elsewhere, waits its fifteen minutes.
	if (!(await changeLastMailed(store.db, programmeId, lastMailedAtMs, nowMs))) return;
	const notices: ShownNotice[] = [];
	for (const notice of found) {
		if (await claimMail(store.db, notice, nowMs + MAIL_CLAIM_MS)) notices.push(notice);
	}
	if (notices.length === 0) {
		// Another process has them, or they were told meanwhile.
		await changeLastMailed(store.db, programmeId, nowMs, lastMailedAtMs);
		return;
	}
	const undelivered = await countUndelivered(store.db, programmeId);
	const { mailedTo, late } = await sendToAll(deps, readers, { programme, notices, undelivered, nowMs });
	if (mailedTo.length === 0) {
		await changeLastMailed(store.db, programmeId, nowMs, lastMailedAtMs);
		return;
	}
	await store.transact(async (trx) => {
		await markAll(trx, notices, mailedTo, nowMs);
		for (const { to, subject, text } of late) {
			// One each: those whom the server takes must not get it again because of another.
			for (const email of to) {
				await mails.enqueue(trx, { to: email, subject, text, goodForMs: LATE_MAIL_GOOD_FOR_MS });
			}
		}
	});
}

interface Sent {
	/** Those whose mail the server took. */
	mailedTo: string[];
	/** Mails that it may take later. */
	late: Mail[];
}

/** One that is refused for good is tried again only while nobody could be reached. */
async function sendToAll(
	{ mailer, log, publicUrl }: MailNoticesDeps,
	readers: readonly Addressee[],
	view: Omit<NoticeMailView, "zone">,
): Promise<Sent> {
	const sent: Sent = { mailedTo: [], late: [] };
	const programmeId = view.notices[0]?.receiver_id;
	for (const [zone, group] of Map.groupBy(readers, ({ zone }) => zone)) {
		const to = group.map(({ email }) => email);
		const mail = { to, ...composeNoticeMail({ ...view, zone }, { publicUrl }) };
		const failure = await mailer.send(mail).catch((err: unknown) => ({ err }));
		if (failure === null) sent.mailedTo.push(...to);
		else if (isPermanent(failure)) log.warn({ ...failure, programmeId }, "the mail server refused a notice");
		else {
			sent.late.push(mail);
			log.warn({ ...failure, programmeId }, "a notice could not be mailed; trying again in a minute");
		}
	}
	return sent;
}

function isPermanent(failure: { err: unknown } | MailRefusal): boolean {
	return "isPermanent" in failure && failure.isPermanent;
}

async function markAll(
	trx: Db,
	notices: readonly ShownNotice[],
	to: readonly string[],
	nowMs: number,
): Promise<void> {
	for (const notice of notices) {
		const sent = { told: notice.failures, to, atMs: nowMs, nextMailAtMs: nowMs + MAIL_INTERVAL_MS };
		await markMailed(trx, notice.id, sent);
	}
}
