// The audit log: who did what, written in the transaction of what it records. No secret, token or password
// ever goes into it.

import type { Selectable } from "kysely";
import type { Db } from "./store.ts";
import type { AuditEntriesTable } from "./tables/audit.ts";

export type AuditEntry = Selectable<AuditEntriesTable>;

/** `area.what-happened`; a new one is added here, none is renamed, because old entries keep theirs. */
export type AuditAction =
	| "person.invited"
	| "person.joined"
	| "person.signed_in"
	| "person.signed_out"
	| "person.removed"
	| "access.ended"
	| "link.withdrawn"
	| "password.changed"
	| "password.reset_asked"
	| "password.link_made"
	| "password.reset"
	| "sessions.revoked"
	| "authenticator.turned_on"
	| "authenticator.turned_off"
	| "authenticator.backup_code_used"
	| "programme.created"
	| "programme.changed"
	| "key.issued"
	| "key.revoked"
	| "secret.prepared"
	| "secret.activated"
	| "secret.discarded"
	| "secret.ended"
	| "postback_url.saved"
	| "postback_url.removed"
	| "conversion.decided"
	| "conversions.decided"
	| "decisions.prepared"
	| "decisions.discarded"
	| "conversion.test_sent"
	| "delivery.resent"
	| "deliveries.resent";

export interface AuditNote {
	/** Null: the command line, or the service itself. */
	personId: number | null;
	programmeId?: number | null;
	action: AuditAction;
	/** The public id or e-mail of what it was done to. */
	subject?: string | null;
	detail?: string | null;
}

export async function noteAudit(trx: Db, note: AuditNote, nowMs: number): Promise<void> {
	await trx
		.insertInto("audit_entries")
		.values({
			at_ms: nowMs,
			person_id: note.personId,
			programme_id: note.programmeId ?? null,
			action: note.action,
			subject: note.subject ?? null,
			detail: note.detail ?? null,
		})
		.execute();
}

/** Newest first; `beforeId` is the last entry of the page before. */
export async function listAuditOfProgramme(
	db: Db,
	programmeId: number,
	limit: number,
	beforeId?: number,
): Promise<(AuditEntry & { email: string | null })[]> {
	let query = db
		.selectFrom("audit_entries")
		.leftJoin("people", "people.id", "audit_entries.person_id")
		.selectAll("audit_entries")
		.select("people.email")
		.where("audit_entries.programme_id", "=", programmeId);
	if (beforeId !== undefined) query = query.where("audit_entries.id", "<", beforeId);
	return query.orderBy("audit_entries.id", "desc").limit(limit).execute();
}
