// One-time links: made, looked at, used and withdrawn. Whoever changes one holds `lockAccess`.

import { type Insertable, type NotNull, type RawBuilder, type Selectable, sql } from "kysely";
import type { ProgrammeRole } from "../../domain/roles.ts";
import type { Db } from "../store.ts";
import type { SignInLinkPurpose, SignInLinksTable, Withdrawal } from "../tables/people.ts";

export type SignInLink = Selectable<SignInLinksTable>;
/** What an owner sent: it is for an address, whether or not that has an account, and names what they become. */
export type ProgrammeInvitation = SignInLink & { email: string; role: ProgrammeRole };

/** As with people: one page holds them all. */
const MAX_INVITATIONS_LISTED = 500;

/**
 * To be taken first in every transaction that makes or uses a link, or ends somebody's access. They come one after
 * the other: a link is used before its maker's access ended or not at all, none is made after it, and no two of them
 * wait for each other crosswise. All of them are a few short statements that people wait for anyway.
 */
export async function lockAccess(trx: Db): Promise<void> {
	await trx
		.updateTable("link_lock")
		.set((eb) => ({ id: eb.ref("id") }))
		.execute();
}

/** In place of the one of the same purpose for the same person or address, which stops working. */
export async function replaceSignInLink(trx: Db, link: Insertable<SignInLinksTable>): Promise<void> {
	const same = trx.deleteFrom("links").where("purpose", "=", link.purpose);
	if (link.person_id != null) await same.where("person_id", "=", link.person_id).execute();
	else if (link.email != null) {
		await same
			.where("email", "=", link.email)
			.where("programme_id", "=", link.programme_id ?? null)
			.execute();
	} else await same.execute();
	await trx.insertInto("links").values(link).execute();
}

/** Undefined when it has expired, was withdrawn, replaced or used. */
export async function findOpenSignInLink(
	db: Db,
	tokenHash: string,
	nowMs: number,
): Promise<SignInLink | undefined> {
	return db
		.selectFrom("links")
		.selectAll()
		.where("token_hash", "=", tokenHash)
		.where("expires_at_ms", ">", nowMs)
		.where("withdrawn", "is", null)
		.executeTakeFirst();
}

/** Of somebody who was invited to a programme and has not joined yet. */
export async function hasOpenInvitation(db: Db, personId: number, nowMs: number): Promise<boolean> {
	const isMeant = sql`l.person_id = ${personId} and l.purpose = 'programme_invitation'`;
	return (await findOpenSignInLinks(db, isMeant, nowMs)).length > 0;
}

/** False when somebody else was faster: a link works once. */
export async function spendSignInLink(trx: Db, id: number): Promise<boolean> {
	const { numDeletedRows } = await trx
		.deleteFrom("links")
		.where("id", "=", id)
		.where("withdrawn", "is", null)
		.executeTakeFirst();
	return numDeletedRows > 0n;
}

/** Those that would let this person choose a password. An owner's invitation to their address stays. */
export async function removeSignInLinksOf(trx: Db, personId: number): Promise<void> {
	await trx.deleteFrom("links").where("person_id", "=", personId).execute();
}

export async function removeFirstStaffLink(trx: Db): Promise<void> {
	await trx.deleteFrom("links").where("purpose", "=", "first_staff").execute();
}

/** Owners' invitations, those that do not work any more too, so that they can be sent again. The oldest first. */
export async function listProgrammeInvitations(db: Db, programmeId: number): Promise<ProgrammeInvitation[]> {
	return programmeInvitations(db, programmeId).orderBy("id").limit(MAX_INVITATIONS_LISTED).execute();
}

export async function findProgrammeInvitation(
	db: Db,
	programmeId: number,
	publicId: string,
): Promise<ProgrammeInvitation | undefined> {
	return programmeInvitations(db, programmeId).where("public_id", "=", publicId).executeTakeFirst();
}

function programmeInvitations(db: Db, programmeId: number) {
	return db
		.selectFrom("links")
		.selectAll()
		.where("programme_id", "=", programmeId)
		.where("email", "is not", null)
		.where("role", "is not", null)
		.$narrowType<{ email: NotNull; role: NotNull }>();
}

export async function removeProgrammeInvitation(
	trx: Db,
	programmeId: number,
	email: string,
): Promise<boolean> {
	const { numDeletedRows } = await trx
		.deleteFrom("links")
		.where("programme_id", "=", programmeId)
		.where("email", "=", email)
		.executeTakeFirst();
	return numDeletedRows > 0n;
}

export interface WithdrawnSignInLink {
	purpose: SignInLinkPurpose;
	/** For whom it was. */
	email: string;
	programmeId: number | null;
}

interface OpenSignInLink extends WithdrawnSignInLink {
	id: number;
	personId: number | null;
}

/**
 * Every link that this person made, and every link that was made for them, by whomever. Invitations to others stay
 * as withdrawn ones: somebody else may send them again.
 */
export async function withdrawSignInLinks(
	trx: Db,
	person: { id: number; email: string },
	nowMs: number,
): Promise<WithdrawnSignInLink[]> {
	const links = await findSignInLinksOf(trx, person, nowMs);
	const ends = Object.groupBy(links, ({ purpose, personId, email }) => {
		// What is for the person alone has nothing left to be sent again; an owner's invitation is on that owner's list.
		if (!purpose.endsWith("_invitation") || personId === person.id) return "gone";
		return email === person.email ? "with_recipient" : "with_maker";
	});
	await withdraw(trx, ends.with_recipient, "with_recipient");
	await withdraw(trx, ends.with_maker, "with_maker");
	const gone = ends.gone?.map(({ id }) => id) ?? [];
	if (gone.length > 0) await trx.deleteFrom("links").where("id", "in", gone).execute();
	return links;
}

/** What `withdrawSignInLinks` would withdraw now. */
export function findSignInLinksOf(db: Db, person: { id: number; email: string }, nowMs: number) {
	const isTheirs = sql`(l.made_by = ${person.id} or l.person_id = ${person.id} or l.email = ${person.email})`;
	return findOpenSignInLinks(db, isTheirs, nowMs);
}

/** Of one programme, those that this person made. They stay as withdrawn ones: somebody else may send them again. */
export async function withdrawSignInLinksInto(
	trx: Db,
	programmeId: number,
	madeBy: number,
	nowMs: number,
): Promise<WithdrawnSignInLink[]> {
	const isTheirs = sql`l.made_by = ${madeBy} and l.programme_id = ${programmeId}`;
	const links = await findOpenSignInLinks(trx, isTheirs, nowMs);
	await withdraw(trx, links, "with_maker");
	return links;
}

async function findOpenSignInLinks(
	trx: Db,
	isMeant: RawBuilder<unknown>,
	nowMs: number,
): Promise<OpenSignInLink[]> {
	const { rows } = await sql<OpenSignInLink>`
		select l.id, l.purpose, l.programme_id as "programmeId", l.person_id as "personId",
			coalesce(l.email, p.email, '') as email
		from links l left join people p on p.id = l.person_id
		where l.expires_at_ms > ${nowMs} and l.withdrawn is null and ${isMeant} order by l.id`.execute(trx);
	return rows;
}

async function withdraw(
	trx: Db,
	links: readonly OpenSignInLink[] = [],
	withdrawn: Withdrawal,
): Promise<void> {
	const ids = links.map(({ id }) => id);
	if (ids.length > 0) await trx.updateTable("links").set({ withdrawn }).where("id", "in", ids).execute();
}
