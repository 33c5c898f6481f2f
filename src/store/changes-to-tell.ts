// Audit entries that people have yet to be mailed about. They are marked by whoever writes the entry, in its own
// transaction, so that no change goes untold and nothing that was rolled back is told.

import type { PersonKind } from "../domain/roles.ts";
import { audienceOf } from "../domain/told-changes.ts";
import { findPersonByEmail } from "./people.ts";
import { PASSWORD_PROVIDER } from "./sign-in.ts";
import type { Db } from "./store.ts";

export interface Change {
	id: number;
	at_ms: number;
	programme_id: number | null;
	action: string;
	subject: string | null;
	detail: string | null;
	address: string | null;
	/** Null: the command line, or the service itself. */
	actor: { name: string; email: string; kind: PersonKind } | null;
}

/** What of an audit entry says who is to be told. */
export interface Noted {
	personId: number | null;
	programmeId?: number | null;
	action: string;
	subject?: string | null;
	detail?: string | null;
}

/** What goes together in one mail: changes to one person's account, or to one programme. */
export type Topic =
	| { name: string; audience: "person"; personId: number }
	| { name: string; audience: "owners"; programmeId: number };

export async function markToTell(trx: Db, entryId: number, note: Noted, nowMs: number): Promise<void> {
	const topics = await topicsOf(trx, note);
	await insertMarks(
		trx,
		topics.map((topic) => ({ id: entryId, topic })),
		nowMs,
	);
}

/** Of people who were imported, a batch at a time: who is to hear of it is asked once for all of their programmes. */
export async function markImported(
	trx: Db,
	entries: readonly { id: number; programmeId: number }[],
	nowMs: number,
): Promise<void> {
	const inUse = await findInUse(trx, [...new Set(entries.map(({ programmeId }) => programmeId))]);
	const told = entries.filter(({ programmeId }) => inUse.has(programmeId));
	await insertMarks(
		trx,
		told.flatMap(({ id, programmeId }) => ofProgrammes([programmeId]).map((topic) => ({ id, topic }))),
		nowMs,
	);
}

async function insertMarks(
	trx: Db,
	marks: readonly { id: number; topic: Topic }[],
	nowMs: number,
): Promise<void> {
	if (marks.length === 0) return;
	const rows = marks.map(({ id, topic }) => ({
		audit_entry_id: id,
		topic: topic.name,
		person_id: topic.audience === "person" ? topic.personId : null,
		programme_id: topic.audience === "owners" ? topic.programmeId : null,
		due_at_ms: nowMs,
	}));
	await trx.insertInto("changes_to_tell").values(rows).execute();
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
			if (note.action === "person.imported" && !(await isInUse(trx, note))) return [];
			return [...(await ofConcerned(trx, note)), ...ofProgrammes(await programmesOf(trx, note))];
		default:
			return audience satisfies never;
	}
}

async function isInUse(trx: Db, { programmeId }: Noted): Promise<boolean> {
	return typeof programmeId === "number" && (await findInUse(trx, [programmeId])).has(programmeId);
}

/**
 * Those in which an owner signs in already: whoever moves a network here brings people to many where nobody does.
 */
async function findInUse(trx: Db, programmeIds: readonly number[]): Promise<ReadonlySet<number>> {
	const owned = await trx
		.selectFrom("programme_people")
		.innerJoin("people", "people.id", "programme_people.person_id")
		.innerJoin("auth_accounts", "auth_accounts.userId", "people.public_id")
		.select("programme_people.programme_id as id")
		.distinct()
		.where("programme_people.programme_id", "in", programmeIds)
		.where("programme_people.role", "=", "owner")
		.where("auth_accounts.providerId", "=", PASSWORD_PROVIDER)
		.execute();
	return new Set(owned.map(({ id }) => id));
}

/** Whose access ended or role changed gets a mail of their own: what else happens there may not be theirs to know. */
async function ofConcerned(trx: Db, note: Noted): Promise<Topic[]> {
	// Whose invitation was withdrawn or changed had no access.
	const isInvitation = note.detail?.startsWith("invitation") === true;
	if ((note.action !== "person.removed" && note.action !== "person.role_changed") || isInvitation) return [];
	return ofPerson(await findSubject(trx, note));
}

function ofPerson(personId: number | null | undefined): Topic[] {
	if (personId === null || personId === undefined) return [];
	return [{ name: `person:${personId}`, audience: "person", personId }];
}

function ofProgrammes(ids: readonly number[]): Topic[] {
	return ids.map((programmeId) => ({ name: `programme:${programmeId}`, audience: "owners", programmeId }));
}

/** Whose account it was done to, where that is somebody else than who did it. */
async function findSubject(trx: Db, { subject }: Noted): Promise<number | undefined> {
	if (subject === null || subject === undefined || !subject.includes("@")) return undefined;
	return (await findPersonByEmail(trx, subject))?.id;
}

async function programmesOf(trx: Db, { programmeId, action, personId }: Noted): Promise<number[]> {
	if (typeof programmeId === "number") return [programmeId];
	// The owners of every programme that they were invited to hear of somebody who has joined.
	if (action !== "person.joined" || personId === null) return [];
	const rows = await trx
		.selectFrom("programme_people")
		.select("programme_id")
		.where("person_id", "=", personId)
		.execute();
	return rows.map((row) => row.programme_id);
}

/** The topic that has waited the longest. */
export async function findDueTopic(db: Db, nowMs: number): Promise<Topic | undefined> {
	const row = await db
		.selectFrom("changes_to_tell")
		.select(["topic as name", "person_id as personId", "programme_id as programmeId"])
		.where("due_at_ms", "<=", nowMs)
		.orderBy("due_at_ms")
		.limit(1)
		.executeTakeFirst();
	if (row === undefined) return undefined;
	const { name, personId, programmeId } = row;
	if (personId !== null) return { name, audience: "person", personId };
	if (programmeId !== null) return { name, audience: "owners", programmeId };
	throw new Error(`a change to tell nobody of: ${name}`);
}

export async function postponeTopic(db: Db, topic: string, dueAtMs: number): Promise<void> {
	await db.updateTable("changes_to_tell").set({ due_at_ms: dueAtMs }).where("topic", "=", topic).execute();
}

/** In the transaction that writes the mail. Empty when another process was faster. The oldest first. */
export async function takeChanges(trx: Db, topic: string): Promise<Change[]> {
	const taken = await trx
		.deleteFrom("changes_to_tell")
		.where("topic", "=", topic)
		.returning("audit_entry_id")
		.execute();
	if (taken.length === 0) return [];
	const rows = await trx
		.selectFrom("audit_entries as entry")
		.leftJoin("people", "people.id", "entry.person_id")
		.select(["entry.id", "entry.at_ms", "entry.programme_id", "entry.action"])
		.select(["entry.subject", "entry.detail", "entry.address"])
		.select(["people.name", "people.email", "people.kind"])
		.where(
			"entry.id",
			"in",
			taken.map((row) => row.audit_entry_id),
		)
		.orderBy("entry.id")
		.execute();
	return rows.map(({ name, email, kind, ...entry }) => ({
		...entry,
		actor: name === null || email === null || kind === null ? null : { name, email, kind },
	}));
}
