// Mails on their way, and changes that people have yet to be told of.

import type { Generated } from "kysely";

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
