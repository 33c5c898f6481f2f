// Notices to a programme's people about their callbacks. See domain/notice.ts.

import type { Generated, Selectable } from "kysely";
import type { NoticeKind, TroubleEnd } from "../../domain/notice.ts";
import type { ReceiverId } from "../../domain/receiver.ts";
import type { Verdict } from "../../domain/verdict.ts";
import type { AttemptResult } from "./deliveries.ts";

export interface NoticesTable {
	id: Generated<number>;
	public_id: string;
	receiver_id: ReceiverId;
	kind: NoticeKind;
	/**
	 * Time of the first failed attempt, for a notice about failing callbacks. Time of the success, for a notice that
	 * callbacks work again.
	 */
	opened_at_ms: number;
	/** Time from which people can see the notice, or null while the service only watches the failures. */
	told_at_ms: number | null;
	/** Time at which callbacks worked again or the Postback URL was removed, or null. */
	ended_at_ms: number | null;
	ended_by: TroubleEnd | null;
	failed_attempts: number;
	/** Number of deliveries that have finally failed. */
	failures: number;
	/** Number of final failures that people have already been mailed about. */
	mailed_failures: number;
	/**
	 * Time, delivery and result of the newest final failure, or of the newest failed attempt if no delivery has finally
	 * failed.
	 */
	last_failed_at_ms: number | null;
	last_delivery_id: number | null;
	last_result: AttemptResult | null;
	last_verdict: Verdict | null;
	last_http_status: number | null;
	last_detail: string | null;
	/** Time at which the next mail is due, or null if there is nothing to report. */
	mail_due_at_ms: number | null;
	/** Time and recipients of the last mail about the notice. */
	mailed_at_ms: number | null;
	mailed_to: string | null;
	/** Recipients to whom the mail could not be delivered and was given up. */
	mail_refused_to: string | null;
}

// Queued mails, and changes about which people must still be mailed.

/**
 * Each row is a mail. It is stored in the transaction of the event that it reports, sent after the commit, and
 * retried if sending fails.
 */
export interface MailQueueTable {
	id: Generated<number>;
	to_address: string;
	/**
	 * Topic of the mail, or null for a mail that a person asked for. The frequency of mails on the same topic is limited.
	 */
	topic: string | null;
	subject: string;
	/**
	 * Encrypted text of the mail, which may contain a sign-in link. Null once the mail was sent or given up, and if it
	 * is withheld.
	 */
	sealed_text: string | null;
	created_at_ms: number;
	/** Time of the next attempt, or null once the mail was sent or given up, and if it is withheld. */
	due_at_ms: number | null;
	/** Number of attempts that the mail server answered. An attempt does not count if the server itself fails. */
	tries: Generated<number>;
	/** Time after which the mail is useless and is not sent. */
	good_until_ms: number;
	sent_at_ms: number | null;
	given_up_at_ms: number | null;
	/** Last error of the mail server or of the connection to it. */
	refusal: string | null;
}

/**
 * Each row is an audit entry about which a person, or the owners of a programme, must be mailed. The row is deleted
 * when the mail is written.
 */
export interface ChangesToTellTable {
	audit_entry_id: number;
	/** Entries of the same topic are put into one mail. */
	topic: string;
	/** Person whose account was changed, or null if the owners of the programme are mailed. */
	person_id: number | null;
	programme_id: number | null;
	due_at_ms: number;
}

/** Each row is an action of a person, the command line or the service. It changes only if somebody is erased. */
export interface AuditEntriesTable {
	id: Generated<number>;
	at_ms: number;
	/** The person who acted, or null for the command line and the service itself. */
	person_id: number | null;
	programme_id: number | null;
	action: string;
	/** Public id or email address of the object that was changed. */
	subject: string | null;
	detail: string | null;
	/** IP address of the request, for changes to somebody's account. */
	address: string | null;
	/** API token with which a program acted in the person's name, or null if the person acted on a page. */
	token_id: number | null;
}

export type AuditEntry = Selectable<AuditEntriesTable>;
