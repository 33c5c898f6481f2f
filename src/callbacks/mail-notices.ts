// Tells a programme's owners and developers by mail what the notices on the page say: at once for the first, then one
// digest in fifteen minutes. A notice is marked as mailed only after the server took the mail. People whose times are
// written in different zones get mails of their own: what the server does not take for somebody goes into the queue of
// mails with the mark, in one transaction, so that everybody is told and nobody twice, whoever dies meanwhile. The queue
// gives up after a day, and staff see it there; only while the server itself fails is everything tried again each minute.

import { sayMailReply } from "../domain/mail-reply.ts";
import { MAIL_INTERVAL_MS, MAILED_ROLES, mailDueAtMs } from "../domain/notice.ts";
import { DAY_MS, MINUTE_MS } from "../domain/time.ts";
import type { Clock, Log, Mailer } from "../ports.ts";
import { countUndelivered } from "../store/delivery-health.ts";
import type { ShownNotice } from "../store/notice-list.ts";
import {
	changeLastMailed,
	claimMail,
	findNoticesToMail,
	markMailed,
	postponeMails,
	type SentMail,
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
	/** One that is not tried again, for staff to see. */
	noteRefused(trx: Db, mail: { to: string; subject: string; refusal: string }): Promise<void>;
}

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
	const { store, clock, mails } = deps;
	const programmeId = found[0]?.receiver_id;
	if (programmeId === undefined) return;
	const programme = (await findProgrammesById(store.db, [programmeId])).get(programmeId);
	const kinds = new Set(found.map(({ kind }) => kind));
	const readers = await addresseesOf(store.db, programmeId, MAILED_ROLES, [...kinds]);
	const nowMs = clock.nowMs();
	// The page tells those who want no mail.
	if (readers.length === 0 && (await addresseesOf(store.db, programmeId, MAILED_ROLES)).length > 0) {
		return store.transact((trx) => markAll(trx, found, { to: [], refusedTo: [] }, nowMs));
	}
	// Its owner may come later, and is mailed then. Until then the page says it, and no log every fifteen minutes.
	if (programme === undefined || readers.length === 0) {
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
	const sent = await sendToAll(deps, readers, { programme, notices, undelivered, nowMs });
	const isNobodyTold = sent.mailedTo.length === 0;
	if (isNobodyTold && sent.hasServerFailed) {
		await changeLastMailed(store.db, programmeId, nowMs, lastMailedAtMs);
		return;
	}
	const to = [...sent.mailedTo, ...sent.late.map((mail) => mail.to)];
	const refusedTo = sent.refused.map((mail) => mail.to);
	await store.transact(async (trx) => {
		await markAll(trx, notices, { to, refusedTo }, nowMs);
		// Where all are refused, the fault may be in our settings, and be put right within the day.
		const tried = isNobodyTold ? [...sent.late, ...sent.refused] : sent.late;
		for (const mail of tried) {
			const { subject, text } = mail;
			await mails.enqueue(trx, { to: mail.to, subject, text, goodForMs: LATE_MAIL_GOOD_FOR_MS });
		}
		if (!isNobodyTold) for (const mail of sent.refused) await mails.noteRefused(trx, mail);
	});
}

/** For one of those it is for: others must not get it again because of them. */
interface OwnMail {
	to: string;
	subject: string;
	text: string;
}

interface Sent {
	/** Those for whom the server took it. */
	mailedTo: string[];
	/** Those for whom it may take it later. */
	late: OwnMail[];
	/** Those for whom it will not. */
	refused: (OwnMail & { refusal: string })[];
	hasServerFailed: boolean;
}

async function sendToAll(
	{ mailer, log, publicUrl }: MailNoticesDeps,
	readers: readonly Addressee[],
	view: Omit<NoticeMailView, "zone">,
): Promise<Sent> {
	const sent: Sent = { mailedTo: [], late: [], refused: [], hasServerFailed: false };
	const programmeId = view.notices[0]?.receiver_id;
	for (const [zone, group] of Map.groupBy(readers, ({ zone }) => zone)) {
		const to = group.map(({ email }) => email);
		const words = composeNoticeMail({ ...view, zone }, { publicUrl });
		const answer = await mailer.send({ to, ...words }).catch((err: unknown) => ({ err }));
		if ("err" in answer) {
			sent.hasServerFailed = true;
			sent.late.push(...to.map((email) => ({ to: email, ...words })));
			log.warn({ ...answer, programmeId }, "a notice could not be mailed; trying again in a minute");
			continue;
		}
		for (const refusal of answer) {
			const own = { to: refusal.to, ...words };
			if (refusal.isPermanent) sent.refused.push({ ...own, refusal: refusal.reason });
			else sent.late.push(own);
			// The address is nobody's business: staff see it where the mail is listed, and it is not logged.
			const { reason, isPermanent } = refusal;
			log.warn(
				{ reason: sayMailReply(reason), isPermanent, programmeId },
				"the mail server refused a notice for one of its readers",
			);
		}
		sent.mailedTo.push(...to.filter((email) => answer.every((refusal) => refusal.to !== email)));
	}
	return sent;
}

async function markAll(
	trx: Db,
	notices: readonly ShownNotice[],
	readers: Pick<SentMail, "to" | "refusedTo">,
	nowMs: number,
): Promise<void> {
	for (const notice of notices) {
		const sent = { told: notice.failures, ...readers, atMs: nowMs, nextMailAtMs: nowMs + MAIL_INTERVAL_MS };
		await markMailed(trx, notice.id, sent);
	}
}
