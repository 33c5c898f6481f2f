// Writes the audit log. An entry is written in the transaction of the change that it records. The same transaction
// marks the entry if people must be mailed about it (domain/action.ts). An entry never contains a secret, token or
// password.

import { type Insertable, type Selectable, sql } from "kysely";
import { type AuditAction, audienceOf } from "../../domain/action.ts";
import type { PersonKind } from "../../domain/roles.ts";
import type { Db } from "../store.ts";
import type { AuditEntriesTable, ChangesToTellTable } from "../tables/notices.ts";
import { CAN_SIGN_IN, findPersonByEmail } from "./people.ts";

export interface AuditNote {
	/** The person who acted, or null for the command line and the service itself. */
	personId: number | null;
	programmeId?: number | null;
	action: AuditAction;
	/** Public id or email address of the object that was changed. */
	subject?: string | null;
	detail?: string | null;
	/** IP address, for sign-ins and for changes to somebody's account. The mail about such a change contains it. */
	address?: string | null;
}

/** API tokens of transactions that act with a token. */
const actingTokens = new WeakMap<Db, number>();

/**
 * Makes all audit entries that this transaction writes from now on name the API token. Use cases pass only the
 * person, and need not know whether the person acts on a page or through a token.
 */
export function auditWithToken(trx: Db, tokenId: number): void {
	actingTokens.set(trx, tokenId);
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
					token_id: actingTokens.get(trx) ?? null,
				}),
			),
		)
		.returning(["id", "person_id as personId", "programme_id as programmeId", "action", "subject", "detail"])
		.execute();
	await markForMail(trx, entries, nowMs);
}

/** Part of an audit entry that determines who is mailed about it. */
type Noted = Required<Omit<AuditNote, "address" | "action">> & { id: number; action: string };

const IMPORTED: readonly string[] = ["person.imported", "partnership.imported"];

/**
 * Marks audit entries for a mail, in the transaction that writes them. Every change is therefore mailed, unless it is
 * rolled back.
 */
async function markForMail(trx: Db, entries: readonly Noted[], nowMs: number): Promise<void> {
	const imported = entries.filter(({ action }) => IMPORTED.includes(action));
	const inUse = await findInUse(trx, [...new Set(imported.flatMap(({ programmeId }) => programmeId ?? []))]);
	const marks: Insertable<ChangesToTellTable>[] = [];
	for (const entry of entries) {
		if (imported.includes(entry) && !inUse.has(entry.programmeId ?? 0)) continue;
		for (const { name, personId, programmeId } of await topicsOf(trx, entry)) {
			marks.push({
				audit_entry_id: entry.id,
				topic: name,
				person_id: personId,
				programme_id: programmeId,
				due_at_ms: nowMs,
			});
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
			return topicOfPerson((await findSubject(trx, note)) ?? note.personId);
		case "owners":
			// The owners already know about this person, because the person was invited before and only gets a new link.
			if (note.action === "person.invited" && note.detail === "new link") return [];
			return [
				...(await topicsOfAffectedPerson(trx, note)),
				...topicsOfProgrammes(await programmesOf(trx, note), note),
			];
		case "colleagues":
			return topicsOfColleagues(trx, note);
		case "staff":
			return topicsOfStaff(trx, note);
		default:
			return audience satisfies never;
	}
}

/**
 * Returns those of the programmes in which an owner already has a password. For the other programmes, nobody is
 * mailed about imported people and partners, because an import of a whole network adds them to many programmes that
 * nobody uses yet. The query runs once for each batch of an import.
 */
async function findInUse(trx: Db, programmeIds: readonly number[]): Promise<ReadonlySet<number>> {
	if (programmeIds.length === 0) return new Set();
	const { rows: owned } = await sql<{
		id: number;
	}>`select distinct r.programme_id as id from programme_people r
		join passwords w on w.person_id = r.person_id
		where r.programme_id in (${sql.join(programmeIds)}) and r.role = 'owner'`.execute(trx);
	return new Set(owned.map(({ id }) => id));
}

/**
 * Returns the topic for a person whose access ended or whose role changed. This person gets a separate mail, because
 * they may not be allowed to see other changes of the programme.
 */
async function topicsOfAffectedPerson(trx: Db, note: Noted): Promise<Topic[]> {
	if (note.action !== "person.removed" && note.action !== "person.role_changed") return [];
	return topicOfPerson(await findSubject(trx, note));
}

async function topicsOfStaff(trx: Db, { action, personId }: Noted): Promise<Topic[]> {
	const staff = await trx
		.selectFrom("people")
		.select("people.id")
		.where("kind", "=", "staff")
		.where(CAN_SIGN_IN)
		.orderBy("people.id")
		.execute();
	const isKnownTo = (id: number) => action === "staff.joined" && id === personId;
	return staff.filter(({ id }) => !isKnownTo(id)).flatMap(({ id }) => topicOfPerson(id));
}

/**
 * Returns a topic for each person who signs in for the partner. Somebody who has just joined the partner is not
 * mailed about that.
 */
async function topicsOfColleagues(trx: Db, { subject, personId, action }: Noted): Promise<Topic[]> {
	if (subject === null) return [];
	const people = await trx
		.selectFrom("partner_people")
		.innerJoin("partners", "partners.id", "partner_people.partner_id")
		.select("partner_people.person_id as id")
		.where("partners.public_id", "=", subject)
		.orderBy("partner_people.person_id")
		.execute();
	const isKnownTo = (id: number) => action === "partner.person_joined" && id === personId;
	return people.filter(({ id }) => !isKnownTo(id)).flatMap(({ id }) => topicOfPerson(id));
}

function topicOfPerson(personId: number | null | undefined): Topic[] {
	if (typeof personId !== "number") return [];
	return [{ name: `person:${personId}`, personId, programmeId: null }];
}

/**
 * Returns a topic for each programme. Applications have a separate mail, because strangers write them and owners only
 * have to answer them.
 */
function topicsOfProgrammes(ids: readonly number[], { action }: Noted): Topic[] {
	const kind = action === "application.made" ? "applications" : "programme";
	return ids.map((programmeId) => ({ name: `${kind}:${programmeId}`, personId: null, programmeId }));
}

/** Returns the id of the person whose account was changed, or undefined if the subject is not a person. */
async function findSubject(trx: Db, { subject }: Noted): Promise<number | undefined> {
	if (subject === null || !subject.includes("@")) return undefined;
	return (await findPersonByEmail(trx, subject))?.id;
}

async function programmesOf(trx: Db, { programmeId, action, personId }: Noted): Promise<number[]> {
	if (programmeId !== null) return [programmeId];
	// When a person joins, the owners of every programme that they were invited to are mailed.
	if (action !== "person.joined" || personId === null) return [];
	const rows = await trx
		.selectFrom("programme_people")
		.select("programme_id")
		.where("person_id", "=", personId)
		.execute();
	return rows.map((row) => row.programme_id);
}

/**
 * Group of changes that are put into one mail. The changes are about one person's account, one programme, or the
 * applications to a programme.
 */
export interface Topic {
	name: string;
	/** Exactly one of `personId` and `programmeId` is set. */
	personId: number | null;
	programmeId: number | null;
}

export interface Change extends Omit<Selectable<AuditEntriesTable>, "person_id"> {
	/** The person who made the change, or null for the command line and the service itself. */
	actor: { name: string; email: string; kind: PersonKind } | null;
}

/** Returns the topic whose changes have waited longest for a mail. */
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

/** Maximum number of changes in one mail. Further changes wait for the next mail. */
const MAX_CHANGES_IN_MAIL = 200;

/**
 * Removes the oldest changes of a topic from the list of those to mail, in the transaction that writes the mail, and
 * returns them. Returns an empty list if another process was faster.
 */
export async function takeChanges(trx: Db, topic: string): Promise<Change[]> {
	const oldest = trx
		.selectFrom("changes_to_tell")
		.select("audit_entry_id")
		.where("topic", "=", topic)
		.orderBy("audit_entry_id")
		.limit(MAX_CHANGES_IN_MAIL);
	const deleted = await trx
		.deleteFrom("changes_to_tell")
		.where("topic", "=", topic)
		.where("audit_entry_id", "in", oldest)
		.returning("audit_entry_id")
		.execute();
	if (deleted.length === 0) return [];
	const ids = deleted.map((row) => row.audit_entry_id);
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
