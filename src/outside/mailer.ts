// Sends mail through the operator's SMTP server.

import { createTransport, type NodemailerError } from "nodemailer";
import type { Mailer, MailSender } from "#core/ports.ts";

/** Timeout for the mail server. A server that hangs must not delay the other mails for long. */
const SMTP_TIMEOUT_MS = 20_000;

export interface SmtpMailer extends Mailer {
	/** Connects and signs in to the mail server without sending anything. */
	verify(): Promise<void>;
	close(): void;
}

export function createSmtpMailer(smtpUrl: string, from: string): SmtpMailer {
	const smtp = createTransport(
		{
			url: smtpUrl,
			connectionTimeout: SMTP_TIMEOUT_MS,
			greetingTimeout: SMTP_TIMEOUT_MS,
			socketTimeout: SMTP_TIMEOUT_MS,
		},
		{ from },
	);
	const usual = readMailFrom(from);
	return {
		async send({ to, subject, text, from: sender, replyTo }) {
			try {
				await smtp.sendMail({
					// An object is passed, because nodemailer would read text in parentheses in a plain string as a comment, and
					// would send the mail to another address.
					to: { name: "", address: to },
					subject,
					text,
					...(sender === undefined ? {} : { from: fillIn(sender, usual) }),
					...(replyTo === undefined ? {} : { replyTo }),
				});
				return null;
			} catch (error) {
				if (!isAboutOneMail(error)) throw error;
				return { reason: (error.rejectedErrors?.[0] ?? error).message };
			}
		},
		async verify() {
			await smtp.verify();
		},
		close: () => smtp.close(),
	};
}

/**
 * Parses a sender such as `Ringback <ringback@network.example>`. A sender that is only an address has no
 * name.
 */
function readMailFrom(text: string): { name: string; address: string } {
	const [, name = "", address = text] = /^(.*?)\s*<([^<>]+)>$/.exec(text.trim()) ?? [];
	return { name: name.replace(/^"(.*)"$/, "$1"), address };
}

/**
 * Returns the sender as name and address instead of one text, so that a comma or a quote in the name stays
 * part of the name.
 */
function fillIn(
	{ name, address }: MailSender,
	usual: { name: string; address: string },
): { name: string; address: string } {
	return { name: name ?? usual.name, address: address ?? usual.address };
}

/**
 * Returns true if the server refused only this mail, judged by nodemailer's error codes. A refused sender (MAIL FROM)
 * does not count, because every mail would be refused.
 */
function isAboutOneMail(error: unknown): error is NodemailerError {
	if (!(error instanceof Error) || !("code" in error) || !("command" in error)) return false;
	return (error.code === "EENVELOPE" || error.code === "EMESSAGE") && error.command !== "MAIL FROM";
}
