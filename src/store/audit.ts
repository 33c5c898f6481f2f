// The audit log: who did what, written in the transaction of what it records. No secret, token or password
// ever goes into it.

import type { ToldAction } from "../domain/told-changes.ts";
import { markToTell, type Noted } from "./changes-to-tell.ts";
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
		.values({
			at_ms: nowMs,
			person_id: note.personId,
			programme_id: note.programmeId ?? null,
			action: note.action,
			subject: note.subject ?? null,
			detail: note.detail ?? null,
			address: note.address ?? null,
		})
		.returning("id")
		.executeTakeFirstOrThrow();
	await markToTell(trx, id, note, nowMs);
}
