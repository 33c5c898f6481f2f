// Remembers whether the mail server takes mails, for whoever asks how the installation does.

import { sayMailReply } from "../domain/mail-reply.ts";
import type { MailFailure } from "../domain/process.ts";
import type { Clock, Mailer } from "../ports.ts";

export interface WatchedMailer extends Mailer {
	/** The last one that was not taken; null once another was. */
	readonly failure: MailFailure | null;
}

export function watchMailer(mailer: Mailer, clock: Pick<Clock, "nowMs">): WatchedMailer {
	let failure: MailFailure | null = null;
	const note = (reason: string | null): void => {
		failure = reason === null ? null : { atMs: clock.nowMs(), reason: sayMailReply(reason) };
	};
	return {
		get failure() {
			return failure;
		},
		async send(mail) {
			try {
				const refusals = await mailer.send(mail);
				// Refused for some of them, it was taken for the others: the server works.
				const isTaken = refusals.length < mail.to.length;
				note(isTaken ? null : (refusals[0]?.reason ?? null));
				return refusals;
			} catch (error) {
				note(error instanceof Error ? error.message : String(error));
				throw error;
			}
		},
	};
}
