// Tells a programme's owners by mail what the notices on the page say: at once for the first failure, then
// one digest in fifteen minutes. A notice is marked as mailed only after the server took the mail.

import { MAIL_INTERVAL_MS } from "../domain/notice.ts";
import type { Clock, Log, Mailer } from "../ports.ts";
import {
	claimMail,
	findNoticesToMail,
	markMailed,
	type Notice,
	nextMailDueAtMs,
	noteProgrammeMailed,
} from "../store/notices.ts";
import { findProgrammesById, ownerEmails } from "../store/programmes.ts";
import type { Store } from "../store/store.ts";
import { composeNoticeMail } from "./notice-mail.ts";

export interface MailOwnersDeps {
	store: Store;
	clock: Clock;
	log: Log;
	/** Null when no SMTP_URL is set: the notice stays on the page. */
	mailer: Mailer | null;
	publicUrl: string;
}

/** While a mail is under way, and when the mail server did not take it. */
const MAIL_CLAIM_MS = 60_000;
/** Per round, so that other work gets its turn; the next round takes the rest. */
const MAX_MAILS_A_ROUND = 50;

/** Resolves to when the next mail is due, null for none. */
export async function mailOwners(deps: MailOwnersDeps, isStopping: () => boolean): Promise<number | null> {
	// A stop waits for the mail under way and no other: each may take as long as the mail server likes.
	for (let sent = 0; sent < MAX_MAILS_A_ROUND && !isStopping(); sent++) {
		const notices = await findNoticesToMail(deps.store.db, deps.clock.nowMs());
		if (notices.length === 0) break;
		await mailOne(deps, notices);
	}
	return nextMailDueAtMs(deps.store.db);
}

async function mailOne(deps: MailOwnersDeps, found: readonly Notice[]): Promise<void> {
	const { store, clock, log, mailer, publicUrl } = deps;
	const claimedAtMs = clock.nowMs();
	const notices: Notice[] = [];
	for (const notice of found) {
		if (await claimMail(store.db, notice, claimedAtMs + MAIL_CLAIM_MS)) notices.push(notice);
	}
	const programmeId = notices[0]?.programme_id;
	if (programmeId === undefined) return;
	const programme = (await findProgrammesById(store.db, [programmeId])).get(programmeId);
	const to = await ownerEmails(store.db, programmeId);
	if (mailer !== null && programme !== undefined && to.length > 0) {
		try {
			await mailer.send({ to, ...composeNoticeMail(programme, notices, publicUrl) });
		} catch (error) {
			log.warn({ err: error, programmeId }, "a notice could not be mailed; trying again in a minute");
			return;
		}
	}
	const nowMs = clock.nowMs();
	await store.transact(async (trx) => {
		await noteProgrammeMailed(trx, programmeId, nowMs);
		for (const notice of notices) await markMailed(trx, notice.id, notice.failures, nowMs + MAIL_INTERVAL_MS);
	});
}
