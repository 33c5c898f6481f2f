// A mail that somebody sends to themselves, to see whether mail works and how it looks: sent at once, and what the mail
// server says of it is told in its own words.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { sayMailError, sayMailReply } from "../domain/mail-reply.ts";
import type { Mail, Mailer } from "../ports.ts";
import { changeNetworkRow } from "../store/network.ts";
import { TEST_MAILS_BY_ONE_PERSON, useLimits } from "./limits.ts";
import type { NetworkDeps } from "./network.ts";

export interface TestMailDeps extends NetworkDeps {
	/** Null without SMTP_URL. */
	mailer: Mailer | null;
}

/** Resolves when the server has taken it. */
export async function sendTestMail(
	{ store, clock, network, mailer }: TestMailDeps,
	person: { personId: number; email: string },
): Promise<Result<true>> {
	if (mailer === null) {
		return refuse("mail_off", "Mail is off. Set SMTP_URL and MAIL_FROM, and restart the service.");
	}
	const use = { limit: TEST_MAILS_BY_ONE_PERSON, subject: String(person.personId) };
	const tooMany = await useLimits(store.db, [use], clock.nowMs());
	if (tooMany !== null) return tooMany;
	const words = await tryMail(mailer, composeTestMail(person.email));
	if (words !== null) {
		return refuse("mail_refused", `The mail server did not accept the test mail. It said: ${words}`);
	}
	await changeNetworkRow(store.db, { mail_tested_at_ms: clock.nowMs() });
	network.forget();
	return succeed(true);
}

export function composeTestMail(to: string): Mail {
	return {
		to: [to],
		subject: "Test mail",
		text: "This is a test mail. If you can read it, mail works: invitations, password links and notices about failing callbacks arrive, too.",
	};
}

/** What the server, or the way to it, said against the mail; null when it was taken. */
async function tryMail(mailer: Mailer, mail: Mail): Promise<string | null> {
	try {
		const [refusal] = await mailer.send(mail);
		return refusal === undefined ? null : sayMailReply(refusal.reason);
	} catch (error) {
		return sayMailError(error);
	}
}
