// Every mail goes out through here: under the network's name, with the lines that say who sends it, and answers go to
// its support address. Remembers whether the mail server takes mails, for whoever asks how the installation does.

import { networkName } from "../domain/network.ts";
import type { MailFailure } from "../domain/process.ts";
import { messageOf } from "../domain/visible-text.ts";
import type { Clock, Mail, Mailer, MailSender } from "../ports.ts";
import type { KnownNetwork, NetworkFace } from "../store/queries/known-network.ts";

export interface NetworkMailer extends Mailer {
	/** Why the last mail was not taken; null once another was. */
	readonly failure: MailFailure | null;
}

export function createNetworkMailer(
	mailer: Mailer,
	network: Pick<KnownNetwork, "read">,
	publicUrl: string,
	clock: Pick<Clock, "nowMs">,
): NetworkMailer {
	let failure: MailFailure | null = null;
	/** The last reader who was refused, until a mail is taken: one bad address is no failure of the server. */
	let refusedTo: string | null = null;
	const note = (reason: string): void => {
		failure = { atMs: clock.nowMs(), reason };
	};
	return {
		get failure() {
			return failure;
		},
		async send(mail) {
			try {
				const refusal = await mailer.send(addressMail(mail, await network.read(), publicUrl));
				if (refusal === null) {
					failure = null;
					refusedTo = null;
					return null;
				}
				const reason = sayMailReply(refusal.reason);
				if (refusedTo !== null && refusedTo !== mail.to) note(reason);
				refusedTo = mail.to;
				return { ...refusal, reason };
			} catch (error) {
				note(sayMailError(error));
				throw error;
			}
		},
	};
}

/** As it is sent: also for whoever wants to see one first. */
export function addressMail(mail: Mail, face: NetworkFace, publicUrl: string): Mail {
	const { supportAddress } = face;
	const from = senderOf(face);
	// A reader must be able to tell who writes to them, and check it.
	const name = networkName(face);
	const sender = `This mail was sent by the affiliate network ${name === null ? "" : `${name} `}at ${publicUrl}`;
	const questions = supportAddress === null ? [] : [`Questions? Write to ${supportAddress}`];
	return {
		...mail,
		text: [mail.text, "", "--", sender, ...questions, ""].join("\n"),
		...(from === null ? {} : { from }),
		...(supportAddress === null ? {} : { replyTo: supportAddress }),
	};
}

/** Null where nothing was chosen: then MAIL_FROM is taken as it is. */
function senderOf({ name, senderName, senderAddress }: NetworkFace): MailSender | null {
	const shown = senderName ?? name;
	return shown === null && senderAddress === null ? null : { name: shown, address: senderAddress };
}

const MAX_REPLY_LENGTH = 400;

/**
 * What a mail server, or the way to it, said, on one line: servers explain in the second line what they mean by the
 * first. It may say anything, and it ends up on pages, in the log and in the database, which takes no NUL.
 */
export function sayMailReply(reply: string): string {
	const line = reply
		.toWellFormed()
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
		.trim();
	return line.length <= MAX_REPLY_LENGTH ? line : `${line.slice(0, MAX_REPLY_LENGTH).toWellFormed()}…`;
}

export function sayMailError(error: unknown): string {
	return sayMailReply(messageOf(error));
}
