// Mails on their way, and changes that people have yet to be told of.

import type { Generated } from "kysely";
import type { Dialect } from "./dialect.ts";

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
	tries: Generated<number>;
	/** After this it is of no use to anybody. */
	good_until_ms: number;
	sent_at_ms: number | null;
	/** When it was not tried again, and what the mail server, or the way to it, said last. */
	given_up_at_ms: number | null;
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

export function mailTables({ selfNumberedId }: Dialect): readonly string[] {
	return [
		`create table mail_queue (
			id ${selfNumberedId}, to_address text not null, topic text, subject text not null, sealed_text text,
			created_at_ms bigint not null, due_at_ms bigint, tries integer not null default 0,
			good_until_ms bigint not null, sent_at_ms bigint, given_up_at_ms bigint, refusal text)`,
		"create index mail_queue_due on mail_queue (due_at_ms) where due_at_ms is not null",
		"create index mail_queue_by_topic on mail_queue (topic, created_at_ms)",
		"create index mail_queue_given_up on mail_queue (given_up_at_ms) where given_up_at_ms is not null",
		"create index mail_queue_by_age on mail_queue (created_at_ms)",
		`create table changes_to_tell (
			audit_entry_id bigint not null, topic text not null, person_id bigint, programme_id bigint,
			due_at_ms bigint not null, primary key (audit_entry_id, topic))`,
		"create index changes_to_tell_due on changes_to_tell (due_at_ms)",
		"create index changes_to_tell_by_topic on changes_to_tell (topic)",
	];
}
