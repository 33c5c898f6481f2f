import type { MailDispatcher } from "#core/mail/dispatcher.ts";
import type { AccountsDeps } from "#core/people/deps.ts";

export interface StatementsDeps extends AccountsDeps {
	mails: MailDispatcher;
	publicUrl: string;
}

/** Dependencies of use cases that run inside the caller's transaction. The caller calls `mails.wake` after it. */
export type InTransaction = Omit<StatementsDeps, "store">;
