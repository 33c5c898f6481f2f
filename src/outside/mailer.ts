// Mail through the operator's SMTP server.

import { createTransport, type NodemailerError } from "nodemailer";
import type { Mailer, MailSender } from "../ports.ts";

/** A mail server that hangs must not hold up the other mails for long. */
const SMTP_TIMEOUT_MS = 20_000;

export interface SmtpMailer extends Mailer {
	/** Connects and signs in without sending anything. */
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
					// As a text, what is in parentheses would be taken for a remark, and the mail would go to another address.
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

/** Name and address of `Ringback <ringback@network.example>`; an address alone has no name. */
function readMailFrom(text: string): { name: string; address: string } {
	const [, name = "", address = text] = /^(.*?)\s*<([^<>]+)>$/.exec(text.trim()) ?? [];
	return { name: name.replace(/^"(.*)"$/, "$1"), address };
}

/** As a pair, and not as a text: a comma or a quote in the name stays in the name. */
function fillIn(
	{ name, address }: MailSender,
	usual: { name: string; address: string },
): { name: string; address: string } {
	return { name: name ?? usual.name, address: address ?? usual.address };
}

/** By nodemailer's own codes. A sender that is refused (MAIL FROM) is refused with every mail. */
function isAboutOneMail(error: unknown): error is NodemailerError {
	if (!(error instanceof Error) || !("code" in error) || !("command" in error)) return false;
	return (error.code === "EENVELOPE" || error.code === "EMESSAGE") && error.command !== "MAIL FROM";
}
