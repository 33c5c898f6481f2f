// Mail through the operator's SMTP server.

import { createTransport } from "nodemailer";
import type { Mailer } from "../ports.ts";

/** A mail server that hangs must not hold the notices of other programmes for long. */
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
	return {
		async send({ to, subject, text }) {
			await smtp.sendMail({ to: [...to], subject, text });
		},
		async verify() {
			await smtp.verify();
		},
		close: () => smtp.close(),
	};
}
