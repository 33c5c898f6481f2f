// The audit log: who did what, written in the transaction of what it records, and marked there where people are to be
// mailed about it (domain/action). No secret, token or password ever goes into it.

import { type Insertable, type Selectable, sql } from "kysely";
import { type AuditAction, audienceOf } from "../../domain/action.ts";
import type { PersonKind } from "../../domain/roles.ts";
import type { Db } from "../store.ts";
import type { AuditEntriesTable, ChangesToTellTable } from "../tables/notices.ts";
import { findPersonByEmail } from "./people.ts";
import { PASSWORD_PROVIDER } from "./sign-in.ts";

export interface AuditNote {
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

export async function noteAudit(trx: Db, note: AuditNote, nowMs: number): Promise<void> {
	await noteAudits(trx, [note], nowMs);
}

export async function noteAudits(trx: Db, notes: readonly AuditNote[], nowMs: number): Promise<void> {
	if (notes.length === 0) return;
	const entries = await trx
		.insertInto("audit_entries")
		.values(
			notes.map(
				({ personId, programmeId = null, action, subject = null, detail = null, address = null }) => ({
					at_ms: nowMs,
					person_id: personId,
					programme_id: programmeId,
					action,
					subject,
					detail,
					address,
				}),
			),
		)
		.returning(["id", "person_id as personId", "programme_id as programmeId", "action", "subject", "detail"])
		.execute();
	await markToTell(trx, entries, nowMs);
}

/** What of an entry says who is to be told. */
type Noted = Required<Omit<AuditNote, "address" | "action">> & { id: number; action: string };

/** In the transaction of the entries: no change goes untold, and nothing that was rolled back is told. */
async function markToTell(trx: Db, entries: readonly Noted[], nowMs: number): Promise<void> {
	const imported = entries.filter(({ action }) => action === "person.imported");
	const inUse = await findInUse(trx, [...new Set(imported.flatMap(({ programmeId }) => programmeId ?? []))]);
	const marks: Insertable<ChangesToTellTable>[] = [];
	for (const entry of entries) {
		if (imported.includes(entry) && !inUse.has(entry.programmeId ?? 0)) continue;
		for (const { name, personId, programmeId } of await topicsOf(trx, entry)) {
			const of = { topic: name, person_id: personId, programme_id: programmeId };
			marks.push({ audit_entry_id: entry.id, ...of, due_at_ms: nowMs });
		}
	}
	if (marks.length > 0) await trx.insertInto("changes_to_tell").values(marks).execute();
}

async function topicsOf(trx: Db, note: Noted): Promise<Topic[]> {
	const audience = audienceOf(note.action);
	switch (audience) {
		case undefined:
			return [];
		case "person":
			return ofPerson((await findSubject(trx, note)) ?? note.personId);
		case "owners":
			// Somebody who was invited before, with a new link: the owners know of them.
			if (note.action === "person.invited" && note.detail === "new link") return [];
			return [...(await ofConcerned(trx, note)), ...ofProgrammes(await programmesOf(trx, note), note)];
		default:
			return audience satisfies never;
	}
}

/**
 * Those in which an owner signs in already: whoever moves a network here brings people to many where nobody does. Asked
 * once for all that a batch of an import brings.
 */
async function findInUse(trx: Db, programmeIds: readonly number[]): Promise<ReadonlySet<number>> {
	if (programmeIds.length === 0) return new Set();
	const { rows: owned } = await sql<{
		id: number;
	}>`select distinct r.programme_id as id from programme_people r
		join people p on p.id = r.person_id join auth_accounts a on a."userId" = p.public_id
		where r.programme_id in (${sql.join(programmeIds)}) and r.role = 'owner'
			and a."providerId" = ${PASSWORD_PROVIDER}`.execute(trx);
	return new Set(owned.map(({ id }) => id));
}

/** Whose access ended or role changed gets a mail of their own: what else happens there may not be theirs to know. */
async function ofConcerned(trx: Db, note: Noted): Promise<Topic[]> {
	// Whose invitation was withdrawn or changed had no access.
	const isInvitation = note.detail === "invitation";
	if ((note.action !== "person.removed" && note.action !== "person.role_changed") || isInvitation) return [];
	return ofPerson(await findSubject(trx, note));
}

function ofPerson(personId: number | null | undefined): Topic[] {
	if (typeof personId !== "number") return [];
	return [{ name: `person:${personId}`, personId, programmeId: null }];
}

/** Applications by themselves: strangers make them, and owners are to answer them, not to look for a thief. */
function ofProgrammes(ids: readonly number[], { action }: Noted): Topic[] {
	const kind = action === "application.made" ? "applications" : "programme";
	return ids.map((programmeId) => ({ name: `${kind}:${programmeId}`, personId: null, programmeId }));
}

/** Whose account it was done to, where that is somebody else than who did it. */
async function findSubject(trx: Db, { subject }: Noted): Promise<number | undefined> {
	if (subject === null || !subject.includes("@")) return undefined;
	return (await findPersonByEmail(trx, subject))?.id;
}

async function programmesOf(trx: Db, { programmeId, action, personId }: Noted): Promise<number[]> {
	if (programmeId !== null) return [programmeId];
	// The owners of every programme that they were invited to hear of somebody who has joined.
	if (action !== "person.joined" || personId === null) return [];
	const rows = await trx
		.selectFrom("programme_people")
		.select("programme_id")
		.where("person_id", "=", personId)
		.execute();
	return rows.map((row) => row.programme_id);
}

/** What goes together in one mail: changes to one person's account, to one programme, or applications to it. */
export interface Topic {
	name: string;
	/** One of the two. */
	personId: number | null;
	programmeId: number | null;
}

export interface Change extends Omit<Selectable<AuditEntriesTable>, "person_id"> {
	/** Null: the command line, or the service itself. */
	actor: { name: string; email: string; kind: PersonKind } | null;
}

/** The topic that has waited the longest. */
export async function findDueTopic(db: Db, nowMs: number): Promise<Topic | undefined> {
	return db
		.selectFrom("changes_to_tell")
		.select(["topic as name", "person_id as personId", "programme_id as programmeId"])
		.where("due_at_ms", "<=", nowMs)
		.orderBy("due_at_ms")
		.limit(1)
		.executeTakeFirst();
}

export async function postponeTopic(db: Db, topic: string, dueAtMs: number): Promise<void> {
	await db.updateTable("changes_to_tell").set({ due_at_ms: dueAtMs }).where("topic", "=", topic).execute();
}

/** What one mail lists: what is left over waits for the next. */
const CHANGES_A_MAIL = 200;

/** In the transaction that writes the mail. Empty when another process was faster. The oldest first. */
export async function takeChanges(trx: Db, topic: string): Promise<Change[]> {
	const oldest = trx
		.selectFrom("changes_to_tell")
		.select("audit_entry_id")
		.where("topic", "=", topic)
		.orderBy("audit_entry_id")
		.limit(CHANGES_A_MAIL);
	const taken = await trx
		.deleteFrom("changes_to_tell")
		.where("topic", "=", topic)
		.where("audit_entry_id", "in", oldest)
		.returning("audit_entry_id")
		.execute();
	if (taken.length === 0) return [];
	const ids = taken.map((row) => row.audit_entry_id);
	const rows = await trx
		.selectFrom("audit_entries")
		.leftJoin("people", "people.id", "audit_entries.person_id")
		.selectAll("audit_entries")
		.select(["people.name", "people.email", "people.kind"])
		.where("audit_entries.id", "in", ids)
		.orderBy("audit_entries.id")
		.execute();
	return rows.map(({ name, email, kind, ...entry }) => ({
		...entry,
		actor: name === null || email === null || kind === null ? null : { name, email, kind },
	}));
}
