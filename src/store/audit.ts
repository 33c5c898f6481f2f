// The audit log: who did what, written in the transaction of what it records. No secret, token or password
// ever goes into it.

import type { ToldAction } from "../domain/told-changes.ts";
import { markImported, markToTell, type Noted } from "./changes-to-tell.ts";
import type { Db } from "./store.ts";

/** `area.what-happened`; a new one is added here, none is renamed, because old entries keep theirs. */
export type AuditAction =
	| ToldAction
	| "person.signed_in"
	| "person.signed_out"
	| "account.changed"
	| "access.ended"
	| "link.withdrawn"
	| "password.reset_asked"
	| "sessions.revoked"
	| "network.changed"
	| "key.renamed"
	| "import.prepared"
	| "import.started"
	| "import.stopped"
	| "import.discarded"
	| "import.finished"
	| "person.imported"
	| "programme.created"
	| "programme.changed"
	| "conversion.decided"
	| "conversions.decided"
	| "decisions.prepared"
	| "decisions.discarded"
	| "conversion.test_sent"
	| "delivery.resent"
	| "deliveries.resent"
	| "delivery.sent_now"
	| "deliveries.sent_now";

export interface AuditNote extends Noted {
	/** Null: the command line, or the service itself. */
	personId: number | null;
	programmeId?: number | null;
	action: AuditAction;
	/** The public id or e-mail of what it was done to. */
	subject?: string | null;
	detail?: string | null;
	/** Where it came from: given for sign-ins and for changes to somebody's account, and told to them of the latter. */
	address?: string | null;
}

/** Also marks what people are to be mailed about: see domain/told-changes. */
export async function noteAudit(trx: Db, note: AuditNote, nowMs: number): Promise<void> {
	const { id } = await trx
		.insertInto("audit_entries")
		.values(entryOf(note, nowMs))
		.returning("id")
		.executeTakeFirstOrThrow();
	await markToTell(trx, id, note, nowMs);
}

export interface ImportedNote {
	personId: number | null;
	programmeId: number;
	email: string;
	role: string;
}

/** People who were imported, some of them at once. */
export async function noteImported(trx: Db, people: readonly ImportedNote[], nowMs: number): Promise<void> {
	if (people.length === 0) return;
	const entries = await trx
		.insertInto("audit_entries")
		.values(
			people.map(({ email, role, ...note }) =>
				entryOf({ ...note, action: "person.imported", subject: email, detail: role }, nowMs),
			),
		)
		.returning(["id", "programme_id as programmeId"])
		.$narrowType<{ programmeId: number }>()
		.execute();
	await markImported(trx, entries, nowMs);
}

function entryOf(note: AuditNote, nowMs: number) {
	return {
		at_ms: nowMs,
		person_id: note.personId,
		programme_id: note.programmeId ?? null,
		action: note.action,
		subject: note.subject ?? null,
		detail: note.detail ?? null,
		address: note.address ?? null,
	};
}
