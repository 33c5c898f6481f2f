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
	 * For a notice about failing callbacks, the time of the first failed attempt. For a notice that they work
	 * again, the time of the success.
	 */
	opened_at_ms: number;
	/** Time from which people can see the notice. Null while the service only watches the failures. */
	told_at_ms: number | null;
	/** Time at which callbacks worked again or the Postback URL was removed, or null. */
	ended_at_ms: number | null;
	ended_by: TroubleEnd | null;
	/** Number of attempts that have failed in a row. */
	failed_attempts: number;
	/** Number of deliveries that have failed for good. */
	failures: number;
	/** Number of final failures that people have already been mailed about. */
	mailed_failures: number;
	/**
	 * Time, delivery and result of the newest final failure, or of the newest failed attempt if there was no
	 * final failure.
	 */
	last_failed_at_ms: number | null;
	last_delivery_id: number | null;
	last_result: AttemptResult | null;
	last_verdict: Verdict | null;
	last_http_status: number | null;
	last_detail: string | null;
	/** Time at which the next mail is due, or null if there is nothing to report. */
	mail_due_at_ms: number | null;
	/** Time and addressees of the last mail about the notice. */
	mailed_at_ms: number | null;
	mailed_to: string | null;
	/** Addressees to whom the mail could not be delivered and was given up. */
	mail_refused_to: string | null;
}

// Queued mails, and changes that people have yet to be mailed about.

/**
 * One row is a mail. It is written in the transaction of its cause, sent after the commit, and retried when it fails.
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
	 * Text of the mail. It is encrypted, because it may contain a sign-in link. Null once the mail was sent or given up,
	 * and if it is withheld.
	 */
	sealed_text: string | null;
	created_at_ms: number;
	/** Time of the next attempt, or null once the mail was sent or given up, and if it is withheld. */
	due_at_ms: number | null;
	/** Number of attempts that the server answered. An attempt does not count if the server itself fails. */
	tries: Generated<number>;
	/** Time after which the mail is useless and is not sent. */
	good_until_ms: number;
	sent_at_ms: number | null;
	/** Time at which the mail was given up, or null. */
	given_up_at_ms: number | null;
	/** Last error of the mail server or of the connection to it. */
	refusal: string | null;
}

/**
 * One row is an audit entry that a person, or the owners of a programme, are to be mailed about. It is deleted when
 * the mail is written.
 */
export interface ChangesToTellTable {
	audit_entry_id: number;
	/** Entries of the same topic are put into one mail. */
	topic: string;
	/** The person whose account was changed, or null if the owners of the programme are mailed. */
	person_id: number | null;
	programme_id: number | null;
	due_at_ms: number;
}

// The audit log.

/** One row is something that a person, the command line or the service did. It changes only if somebody is erased. */
export interface AuditEntriesTable {
	id: Generated<number>;
	at_ms: number;
	/** The person who acted, or null for the command line and the service itself. */
	person_id: number | null;
	programme_id: number | null;
	action: string;
	/** Public id or e-mail address of the object that was changed. */
	subject: string | null;
	detail: string | null;
	/** IP address of the request, for changes to somebody's account. */
	address: string | null;
	/** The API token with which a program acted in the person's name, or null if the person acted on a page. */
	token_id: number | null;
}

export type AuditEntry = Selectable<AuditEntriesTable>;
