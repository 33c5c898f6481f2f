// As the dispatcher is without SMTP_URL, for tests in which nobody is mailed.

import type { MailDispatcher } from "../../src/accounts/mail-dispatcher.ts";

export const MAIL_OFF: MailDispatcher = {
	isOn: false,
	enqueue: async () => undefined,
	send: () => undefined,
	wake: () => undefined,
	settled: async () => undefined,
	stop: async () => undefined,
};
