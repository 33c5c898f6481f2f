// Mail that nobody waits for: a page answers at once, and in the same time whether or not a mail goes out.
// What cannot be sent is logged; whoever stops the service waits for what is under way.

import type { Log, Mail, Mailer } from "../ports.ts";

export interface MailDispatcher {
	/** False without SMTP_URL: links then have to be handed over by people. */
	isOn: boolean;
	send(mail: Mail): void;
	/** Resolves when nothing is under way. */
	settled(): Promise<void>;
}

export function createMailDispatcher({ mailer, log }: { mailer: Mailer | null; log: Log }): MailDispatcher {
	const underWay = new Set<Promise<void>>();
	return {
		isOn: mailer !== null,
		send(mail) {
			if (mailer === null) return;
			// Neither the text nor the address: the one holds a link, the other is nobody's business.
			const sending = mailer
				.send(mail)
				.catch((error: unknown) =>
					log.error({ err: error, subject: mail.subject }, "a mail could not be sent"),
				)
				.finally(() => underWay.delete(sending));
			underWay.add(sending);
		},
		async settled() {
			await Promise.all(underWay);
		},
	};
}
