// Sends every mail in the network's name, adds the lines that say who sends it, and sets the support address
// as reply address. It also remembers whether the mail server accepts mails, for the health page of the
// installation.

import { networkName } from "../domain/network.ts";
import type { MailFailure } from "../domain/process.ts";
import { messageOf } from "../domain/visible-text.ts";
import type { Clock, Mail, Mailer, MailSender } from "../ports.ts";
import type { NetworkCache, NetworkFace } from "../store/network-cache.ts";

export interface NetworkMailer extends Mailer {
	/** Last failure of the mail server, or null if the server has accepted a mail since. */
	readonly failure: MailFailure | null;
}

export function createNetworkMailer(
	mailer: Mailer,
	network: Pick<NetworkCache, "read">,
	publicUrl: string,
	clock: Pick<Clock, "nowMs">,
): NetworkMailer {
	let failure: MailFailure | null = null;
	/**
	 * Recipient whose mail the server refused last, or null after an accepted mail. One refused address does not mean
	 * that the mail server has failed.
	 */
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

/** Returns the mail as it is sent. The page with the network's settings also uses it for a preview. */
export function addressMail(mail: Mail, face: NetworkFace, publicUrl: string): Mail {
	const { supportAddress } = face;
	const from = senderOf(face);
	// The mail says who sends it, so that readers can recognize and check the sender.
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

/** Returns the sender that the network chose, or null if it chose none. MAIL_FROM is then used unchanged. */
function senderOf({ name, senderName, senderAddress }: NetworkFace): MailSender | null {
	const shown = senderName ?? name;
	return shown === null && senderAddress === null ? null : { name: shown, address: senderAddress };
}

const MAX_REPLY_LENGTH = 400;

/**
 * Returns a mail server's reply as one line. All its lines are joined, because servers often explain the
 * first line in the second. The reply can contain anything. It is shown, logged and stored, and a database
 * accepts no NUL.
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
