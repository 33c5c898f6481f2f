// One-time links: made, looked at, used and withdrawn. Whoever changes one holds `lockLinks`.

import type { Insertable, NotNull, Selectable } from "kysely";
import type { ProgrammeRole } from "../../domain/roles.ts";
import { DAY_MS } from "../../domain/time.ts";
import type { Db } from "../store.ts";
import type { LinkPurpose, LinksTable } from "../tables/people.ts";

export type Link = Selectable<LinksTable>;
/** What an owner sent: it is for an address, whether or not that has an account, and names what they become. */
export type ProgrammeInvitation = Link & { email: string; role: ProgrammeRole };

/** As with people: one page holds them all. */
const MAX_INVITATIONS_LISTED = 500;
/** How long an invitation stays on the list after its link has ended, to be sent again. */
const ENDED_SHOWN_MS = 30 * DAY_MS;

/**
 * To be taken first in every transaction that makes or uses a link, or ends somebody's access. They come one after
 * the other: a link is used before its maker's access ended or not at all, none is made after it, and no two of them
 * wait for each other crosswise. All of them are a few short statements that people wait for anyway.
 */
export async function lockLinks(trx: Db): Promise<void> {
	await trx
		.updateTable("link_lock")
		.set((eb) => ({ id: eb.ref("id") }))
		.execute();
}

/** In place of the one of the same purpose for the same person or address, which stops working. */
export async function replaceLink(trx: Db, link: Insertable<LinksTable>): Promise<void> {
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
export async function findOpenLink(db: Db, tokenHash: string, nowMs: number): Promise<Link | undefined> {
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
	const found = await db
		.selectFrom("links")
		.select("id")
		.where("person_id", "=", personId)
		.where("purpose", "=", "programme_invitation")
		.where("expires_at_ms", ">", nowMs)
		.where("withdrawn", "is", null)
		.executeTakeFirst();
	return found !== undefined;
}

/** False when somebody else was faster: a link works once. */
export async function spendLink(trx: Db, id: number): Promise<boolean> {
	const { numDeletedRows } = await trx
		.deleteFrom("links")
		.where("id", "=", id)
		.where("withdrawn", "is", null)
		.executeTakeFirst();
	return numDeletedRows > 0n;
}

/** Those that would let this person choose a password. An owner's invitation to their address stays. */
export async function removeLinksOfPerson(trx: Db, personId: number): Promise<void> {
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

export interface WithdrawnLink {
	purpose: LinkPurpose;
	/** For whom it was. */
	email: string;
	programmeId: number | null;
}

/**
 * Every link that this person made, and every link that was made for them, by whomever. Invitations to others stay
 * as withdrawn ones: somebody else may send them again.
 */
export async function withdrawLinks(
	trx: Db,
	person: { id: number; email: string },
	nowMs: number,
): Promise<WithdrawnLink[]> {
	const rows = await openLinks(trx, nowMs)
		.where((eb) =>
			eb.or([
				eb("links.made_by", "=", person.id),
				eb("links.person_id", "=", person.id),
				eb("links.email", "=", person.email),
			]),
		)
		.execute();
	const ends = Object.groupBy(rows, ({ purpose, person_id, email }) => {
		// What is for the person alone has nothing left to be sent again; an owner's invitation is on that owner's list.
		if (!purpose.endsWith("_invitation") || person_id === person.id) return "gone";
		return email === person.email ? "with_recipient" : "with_maker";
	});
	for (const withdrawn of ["with_recipient", "with_maker"] as const) {
		const ids = ends[withdrawn]?.map(({ id }) => id) ?? [];
		if (ids.length > 0) await trx.updateTable("links").set({ withdrawn }).where("id", "in", ids).execute();
	}
	const gone = ends.gone?.map(({ id }) => id) ?? [];
	if (gone.length > 0) await trx.deleteFrom("links").where("id", "in", gone).execute();
	return rows.map(describeWithdrawn);
}

/** Of one programme, those that this person made. They stay as withdrawn ones: somebody else may send them again. */
export async function withdrawLinksInto(
	trx: Db,
	programmeId: number,
	madeBy: number,
	nowMs: number,
): Promise<WithdrawnLink[]> {
	const rows = await openLinks(trx, nowMs)
		.where("links.made_by", "=", madeBy)
		.where("links.programme_id", "=", programmeId)
		.execute();
	const ids = rows.map(({ id }) => id);
	if (ids.length > 0) {
		await trx.updateTable("links").set({ withdrawn: "with_maker" }).where("id", "in", ids).execute();
	}
	return rows.map(describeWithdrawn);
}

function openLinks(trx: Db, nowMs: number) {
	return trx
		.selectFrom("links")
		.leftJoin("people", "people.id", "links.person_id")
		.select(["links.id", "links.purpose", "links.programme_id", "links.person_id", "links.email"])
		.select("people.email as personEmail")
		.where("links.expires_at_ms", ">", nowMs)
		.where("links.withdrawn", "is", null)
		.orderBy("links.id");
}

function describeWithdrawn(row: {
	purpose: LinkPurpose;
	programme_id: number | null;
	email: string | null;
	personEmail: string | null;
}): WithdrawnLink {
	return { purpose: row.purpose, email: row.email ?? row.personEmail ?? "", programmeId: row.programme_id };
}

/** What has expired opens nothing any more; it would only pile up. */
export async function pruneLinks(db: Db, nowMs: number): Promise<void> {
	await db
		.deleteFrom("links")
		.where((eb) =>
			eb.or([
				eb("expires_at_ms", "<", nowMs - ENDED_SHOWN_MS),
				eb.and([eb("expires_at_ms", "<", nowMs), eb("email", "is", null), eb("withdrawn", "is", null)]),
			]),
		)
		.execute();
}
