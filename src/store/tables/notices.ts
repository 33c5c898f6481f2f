// What a programme's people are told about their callbacks: see domain/notice.

import type { Generated } from "kysely";
import type { NoticeKind, TroubleEnd } from "../../domain/notice.ts";
import type { Verdict } from "../../domain/verdict.ts";
import type { AttemptResult } from "./deliveries.ts";

export interface NoticesTable {
	id: Generated<number>;
	public_id: string;
	receiver_id: number;
	kind: NoticeKind;
	/** Of failing callbacks: when the first attempt failed. */
	opened_at_ms: number;
	/** Null while it is only watched: then nobody sees it. */
	told_at_ms: number | null;
	/** Set when callbacks worked again, or the Postback URL was removed. */
	ended_at_ms: number | null;
	ended_by: TroubleEnd | null;
	/** Attempts that failed in a row. */
	failed_attempts: number;
	/** Deliveries that finally failed. */
	failures: number;
	/** How many of the failures have been told by mail. */
	mailed_failures: number;
	/** The newest failed attempt: when it ended, of which delivery, and how it went. */
	last_failed_at_ms: number | null;
	last_delivery_id: number | null;
	last_result: AttemptResult | null;
	last_verdict: Verdict | null;
	last_http_status: number | null;
	last_detail: string | null;
	/** When the owners are to be mailed next; null when there is nothing to tell. */
	mail_due_at_ms: number | null;
	/** The last mail that told of it, and the addresses it was written to. */
	mailed_at_ms: number | null;
	mailed_to: string | null;
	/** Those of them whose mail was given up. */
	mail_refused_to: string | null;
}

// Mails on their way, and changes that people have yet to be told of.

/** A mail that was promised: written with what it tells of, sent after the commit, tried again when it fails. */
export interface MailQueueTable {
	id: Generated<number>;
	to_address: string;
	/** What it is about, where more of the same would be a flood; null for a mail that somebody asked for. */
	topic: string | null;
	subject: string;
	/** Sealed, because it may hold a link that lets somebody in; null once it was sent or given up, and where it is withheld. */
	sealed_text: string | null;
	created_at_ms: number;
	/** When it may be sent next; null once it was sent or given up, and where it is withheld. */
	due_at_ms: number | null;
	/** Those that came to an answer: while the server itself fails, none is counted. */
	tries: Generated<number>;
	/** After this it is of no use to anybody. */
	good_until_ms: number;
	sent_at_ms: number | null;
	/** When it was not tried again. */
	given_up_at_ms: number | null;
	/** What the mail server, or the way to it, said last, of one that was not taken. */
	refusal: string | null;
}

/** An audit entry that a person or a programme's owners are to be mailed about, until the mail is written. */
export interface ChangesToTellTable {
	audit_entry_id: number;
	/** Those of one topic go together in one mail. */
	topic: string;
	/** Whose account it is; null for the owners of the entry's programme. */
	person_id: number | null;
	programme_id: number | null;
	due_at_ms: number;
}

// Who did what.

/** Who did what: never changed. */
export interface AuditEntriesTable {
	id: Generated<number>;
	at_ms: number;
	/** Null: the command line, or the service itself. */
	person_id: number | null;
	programme_id: number | null;
	action: string;
	/** The public id or e-mail of what it was done to. */
	subject: string | null;
	detail: string | null;
	/** The network address it came from, of changes to somebody's account. */
	address: string | null;
}
