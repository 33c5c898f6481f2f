// One-time sign-in links. A transaction that creates, uses or withdraws a link must hold the access lock.

import { type Insertable, type NotNull, type RawBuilder, type Selectable, sql } from "kysely";
import type { ProgrammeRole } from "../../domain/roles.ts";
import type { Db } from "../store.ts";
import type { SignInLinkPurpose, SignInLinksTable, Withdrawal } from "../tables/people.ts";

export type SignInLink = Selectable<SignInLinksTable>;
/**
 * Invitation that an owner sent. It names a role, and is addressed to an email address that may or may not have an
 * account.
 */
export type ProgrammeInvitation = SignInLink & { email: string; role: ProgrammeRole };
/** Invitation that a partner's people sent to an email address, which may or may not have an account. */
export type PartnerInvitation = SignInLink & { email: string };

/** Maximum number of invitations on a page, so that one page lists all of them. */
const MAX_INVITATIONS_LISTED = 500;

/**
 * Takes the access lock. It must be the first lock of every transaction that creates or uses a sign-in link, signs a
 * person in, or ends somebody's access. These transactions are short. The lock makes them run one after the other, so
 * they cannot deadlock. A link can therefore be used only before the access of its creator ends, and nobody can
 * create a link after their access has ended.
 */
export async function lockAccess(trx: Db): Promise<void> {
	await trx
		.updateTable("access_lock")
		.set((eb) => ({ id: eb.ref("id") }))
		.execute();
}

/** Stores a link. It replaces an earlier link with the same purpose for the same person or address. */
export async function replaceSignInLink(trx: Db, link: Insertable<SignInLinksTable>): Promise<void> {
	const same = trx.deleteFrom("sign_in_links").where("purpose", "=", link.purpose);
	if (link.person_id != null) await same.where("person_id", "=", link.person_id).execute();
	else if (link.email != null) {
		await same
			.where("email", "=", link.email)
			.where("programme_id", "is not distinct from", link.programme_id ?? null)
			.where("partner_id", "is not distinct from", link.partner_id ?? null)
			.execute();
	} else await same.execute();
	await trx.insertInto("sign_in_links").values(link).execute();
}

/** Finds a link by its token. Returns undefined if the link has expired, or was withdrawn, replaced or used. */
export async function findOpenSignInLink(
	db: Db,
	tokenHash: string,
	nowMs: number,
): Promise<SignInLink | undefined> {
	return db
		.selectFrom("sign_in_links")
		.selectAll()
		.where("token_hash", "=", tokenHash)
		.where("expires_at_ms", ">", nowMs)
		.where("withdrawn", "is", null)
		.executeTakeFirst();
}

/** Returns whether a person was invited to a programme and has not joined yet. */
export async function hasOpenInvitation(db: Db, personId: number, nowMs: number): Promise<boolean> {
	const isWanted = sql`l.person_id = ${personId} and l.purpose = 'programme_invitation'`;
	return (await findOpenSignInLinks(db, isWanted, nowMs)).length > 0;
}

/** Uses up a link. Returns false if another transaction used it first. */
export async function spendSignInLink(trx: Db, id: number): Promise<boolean> {
	const { numDeletedRows } = await trx
		.deleteFrom("sign_in_links")
		.where("id", "=", id)
		.where("withdrawn", "is", null)
		.executeTakeFirst();
	return numDeletedRows > 0n;
}

/** Removes all links that would let this person choose a password. An owner's invitation to their address stays. */
export async function removeSignInLinksOf(trx: Db, personId: number): Promise<void> {
	await trx.deleteFrom("sign_in_links").where("person_id", "=", personId).execute();
}

export async function removeFirstStaffLink(trx: Db): Promise<void> {
	await trx.deleteFrom("sign_in_links").where("purpose", "=", "first_staff").execute();
}

/**
 * Lists owners' invitations, the oldest first. Expired and withdrawn invitations are included, so that they can be
 * sent again.
 */
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

/** Returns whether an owner has invited the address to the programme, even if the invitation has expired. */
export async function isInvitedTo(db: Db, programmeId: number, email: string): Promise<boolean> {
	const invitations = programmeInvitations(db, programmeId).where("email", "=", email);
	return (await invitations.limit(1).executeTakeFirst()) !== undefined;
}

/**
 * Returns whether an owner has invited the address to a programme for which the partner brings or brought sales, even
 * if the invitation has expired.
 */
export async function isInvitedToProgrammeOf(db: Db, partnerId: number, email: string): Promise<boolean> {
	const found = await db
		.selectFrom("sign_in_links")
		.innerJoin("partnerships", "partnerships.programme_id", "sign_in_links.programme_id")
		.select("sign_in_links.id")
		.where("sign_in_links.email", "=", email)
		.where("sign_in_links.role", "is not", null)
		.where("partnerships.partner_id", "=", partnerId)
		.limit(1)
		.executeTakeFirst();
	return found !== undefined;
}

function programmeInvitations(db: Db, programmeId: number) {
	return db
		.selectFrom("sign_in_links")
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
		.deleteFrom("sign_in_links")
		.where("programme_id", "=", programmeId)
		.where("email", "=", email)
		.executeTakeFirst();
	return numDeletedRows > 0n;
}

/** Lists the invitations to a partner, the oldest first. Expired and withdrawn invitations are included. */
export async function listPartnerInvitations(db: Db, partnerId: number): Promise<PartnerInvitation[]> {
	return partnerInvitations(db, partnerId).orderBy("id").limit(MAX_INVITATIONS_LISTED).execute();
}

export async function findPartnerInvitation(
	db: Db,
	partnerId: number,
	publicId: string,
): Promise<PartnerInvitation | undefined> {
	return partnerInvitations(db, partnerId).where("public_id", "=", publicId).executeTakeFirst();
}

function partnerInvitations(db: Db, partnerId: number) {
	return db
		.selectFrom("sign_in_links")
		.selectAll()
		.where("partner_id", "=", partnerId)
		.where("email", "is not", null)
		.$narrowType<{ email: NotNull }>();
}

export async function removePartnerInvitation(trx: Db, partnerId: number, email: string): Promise<void> {
	const invitations = trx.deleteFrom("sign_in_links").where("partner_id", "=", partnerId);
	await invitations.where("email", "=", email).execute();
}

export interface WithdrawnSignInLink {
	purpose: SignInLinkPurpose;
	email: string;
	programmeId: number | null;
}

interface OpenSignInLink extends WithdrawnSignInLink {
	id: number;
	personId: number | null;
}

/**
 * Ends every link that this person created, and every link that was created for them. Invitations to other people
 * stay on the list as withdrawn, so that somebody else can send them again.
 */
export async function withdrawSignInLinks(
	trx: Db,
	person: { id: number; email: string },
	nowMs: number,
): Promise<WithdrawnSignInLink[]> {
	const links = await findSignInLinksOf(trx, person, nowMs);
	const ends = Object.groupBy(links, ({ purpose, personId, email }) => {
		// A link for only this person is deleted. An owner's invitation stays on that owner's list as withdrawn.
		if (!purpose.endsWith("_invitation") || personId === person.id) return "gone";
		return email === person.email ? "with_recipient" : "with_maker";
	});
	await withdraw(trx, ends.with_recipient, "with_recipient");
	await withdraw(trx, ends.with_maker, "with_maker");
	const gone = ends.gone?.map(({ id }) => id) ?? [];
	if (gone.length > 0) await trx.deleteFrom("sign_in_links").where("id", "in", gone).execute();
	return links;
}

/** Returns the links that `withdrawSignInLinks` would end now. */
export function findSignInLinksOf(db: Db, person: { id: number; email: string }, nowMs: number) {
	const belongsToPerson = sql`(l.made_by = ${person.id} or l.person_id = ${person.id} or l.email = ${person.email})`;
	return findOpenSignInLinks(db, belongsToPerson, nowMs);
}

/**
 * Withdraws the links that this person created for one programme. The links stay on the list, so that somebody else
 * can send them again.
 */
export async function withdrawSignInLinksInto(
	trx: Db,
	programmeId: number,
	madeBy: number,
	nowMs: number,
): Promise<WithdrawnSignInLink[]> {
	const belongsToPerson = sql`l.made_by = ${madeBy} and l.programme_id = ${programmeId}`;
	const links = await findOpenSignInLinks(trx, belongsToPerson, nowMs);
	await withdraw(trx, links, "with_maker");
	return links;
}

async function findOpenSignInLinks(
	trx: Db,
	isWanted: RawBuilder<unknown>,
	nowMs: number,
): Promise<OpenSignInLink[]> {
	const { rows } = await sql<OpenSignInLink>`
		select l.id, l.purpose, l.programme_id as "programmeId", l.person_id as "personId",
			coalesce(l.email, p.email, '') as email
		from sign_in_links l left join people p on p.id = l.person_id
		where l.expires_at_ms > ${nowMs} and l.withdrawn is null and ${isWanted} order by l.id`.execute(trx);
	return rows;
}

async function withdraw(
	trx: Db,
	links: readonly OpenSignInLink[] = [],
	withdrawn: Withdrawal,
): Promise<void> {
	const ids = links.map(({ id }) => id);
	if (ids.length > 0)
		await trx.updateTable("sign_in_links").set({ withdrawn }).where("id", "in", ids).execute();
}
