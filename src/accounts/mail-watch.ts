// Remembers whether the mail server takes mails, for whoever asks how the installation does.

import { sayMailError, sayMailReply } from "../domain/mail-reply.ts";
import type { MailFailure } from "../domain/process.ts";
import type { Clock, Mailer } from "../ports.ts";

export interface WatchedMailer extends Mailer {
	/** The last one that was not taken; null once another was. */
	readonly failure: MailFailure | null;
}

export function watchMailer(mailer: Mailer, clock: Pick<Clock, "nowMs">): WatchedMailer {
	let failure: MailFailure | null = null;
	const note = (reason: string | null): void => {
		failure = reason === null ? null : { atMs: clock.nowMs(), reason };
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
				const [refusal] = refusals;
				note(isTaken || refusal === undefined ? null : sayMailReply(refusal.reason));
				return refusals;
			} catch (error) {
				note(sayMailError(error));
				throw error;
			}
		},
	};
}
