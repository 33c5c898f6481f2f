// People of a programme, their roles, and the people who are mailed about the programme.

import { type Expression, type SqlBool, sql } from "kysely";
import type { MailKind } from "../../domain/notice.ts";
import type { ProgrammeRole } from "../../domain/roles.ts";
import type { Db } from "../store.ts";
import { CAN_SIGN_IN, MAIL_ZONE } from "./people.ts";
import { type Programme, selectProgrammes } from "./programmes.ts";

export interface ProgrammeName {
	publicId: string;
	name: string;
}

/** Lists the programmes in which the person has a role, the newest first. */
export async function listProgrammesOf(db: Db, personId: number, limit: number): Promise<ProgrammeName[]> {
	return db
		.selectFrom("programme_people")
		.innerJoin("programmes", "programmes.id", "programme_people.programme_id")
		.select(["programmes.public_id as publicId", "programmes.name"])
		.where("programme_people.person_id", "=", personId)
		.orderBy("programmes.id", "desc")
		.limit(limit)
		.execute();
}

export interface RoleInProgramme {
	programmeId: number;
	publicId: string;
	name: string;
	role: ProgrammeRole;
	archivedAtMs: number | null;
}

export async function listRolesOf(db: Db, personId: number): Promise<RoleInProgramme[]> {
	return db
		.selectFrom("programme_people")
		.innerJoin("programmes", "programmes.id", "programme_people.programme_id")
		.select(["programmes.id as programmeId", "programmes.public_id as publicId", "programmes.name"])
		.select(["programme_people.role", "programmes.archived_at_ms as archivedAtMs"])
		.where("programme_people.person_id", "=", personId)
		.orderBy("programmes.id")
		.execute();
}

/** Returns whether another member of the staff can sign in. The caller must hold the access lock. */
export async function hasOtherStaff(trx: Db, personId: number): Promise<boolean> {
	const other = trx.selectFrom("people").select("people.id").where("kind", "=", "staff").where(CAN_SIGN_IN);
	return (await other.where("people.id", "<>", personId).limit(1).executeTakeFirst()) !== undefined;
}

/**
 * Finds a programme in which the person has a role. Returns undefined if there is no such programme or the person has
 * no role in it.
 */
export async function findProgrammeOf(
	db: Db,
	personId: number,
	publicId: string,
): Promise<{ programme: Programme; role: ProgrammeRole } | undefined> {
	const row = await selectProgrammes(db)
		.innerJoin("programme_people", "programme_people.programme_id", "programmes.id")
		.select("programme_people.role")
		.where("programmes.public_id", "=", publicId)
		.where("programme_people.person_id", "=", personId)
		.executeTakeFirst();
	if (row === undefined) return undefined;
	const { role, ...programme } = row;
	return { programme, role };
}

export async function findRole(
	db: Db,
	programmeId: number,
	personId: number,
): Promise<ProgrammeRole | undefined> {
	const row = await db
		.selectFrom("programme_people")
		.select("role")
		.where("programme_id", "=", programmeId)
		.where("person_id", "=", personId)
		.executeTakeFirst();
	return row?.role;
}

/** Adds a person to a programme. If the person already has a role there, the role does not change. */
export async function addToProgramme(
	db: Db,
	programmeId: number,
	personId: number,
	role: ProgrammeRole,
): Promise<void> {
	await db
		.insertInto("programme_people")
		.values({ programme_id: programmeId, person_id: personId, role })
		.onConflict((conflict) => conflict.doNothing())
		.execute();
	// Once a shop's people see the sample programme, they rely on its header names.
	await db
		.updateTable("network")
		.set({ brand_is_fixed: 1 })
		.where("brand_is_fixed", "=", 0)
		.where("sample_programme", "=", (eb) =>
			eb.selectFrom("programmes").select("public_id").where("id", "=", programmeId),
		)
		.execute();
}

/**
 * Removes a person from a programme. The caller must hold the programme's lock and have checked that an owner remains.
 */
export async function removeFromProgramme(trx: Db, programmeId: number, personId: number): Promise<void> {
	await trx
		.deleteFrom("programme_people")
		.where("programme_id", "=", programmeId)
		.where("person_id", "=", personId)
		.execute();
}

/**
 * Changes a person's role in a programme. The caller must hold the programme's lock and have checked that an owner
 * remains.
 */
export async function setRole(
	trx: Db,
	programmeId: number,
	personId: number,
	role: ProgrammeRole,
): Promise<void> {
	await trx
		.updateTable("programme_people")
		.set({ role })
		.where("programme_id", "=", programmeId)
		.where("person_id", "=", personId)
		.execute();
}

/**
 * Returns whether the programme has another owner. The caller must hold the programme's lock. Otherwise two owners who
 * leave at the same moment would leave the programme without an owner.
 */
export async function hasOtherOwner(trx: Db, programmeId: number, personId: number): Promise<boolean> {
	const row = await trx
		.selectFrom("programme_people")
		.select("person_id")
		.where("programme_id", "=", programmeId)
		.where("role", "=", "owner")
		.where("person_id", "<>", personId)
		.limit(1)
		.executeTakeFirst();
	return row !== undefined;
}

export interface Addressee {
	email: string;
	zone: string;
}

/** Lists the addresses of a programme's owners, including those who have not joined yet. */
export async function listOwnerEmails(db: Db, programmeId: number): Promise<string[]> {
	const owners = await db
		.selectFrom("programme_people")
		.innerJoin("people", "people.id", "programme_people.person_id")
		.select("people.email")
		.where("programme_people.programme_id", "=", programmeId)
		.where("programme_people.role", "=", "owner")
		.orderBy("people.email")
		.execute();
	return owners.map(({ email }) => email);
}

/**
 * Lists the people with one of these roles who can sign in. If `kinds` is given, people must want at least one of
 * these kinds of mail.
 */
export async function addresseesOf(
	db: Db,
	programmeId: number,
	roles: readonly ProgrammeRole[],
	kinds?: readonly MailKind[],
): Promise<Addressee[]> {
	const all = db
		.selectFrom("programme_people")
		.innerJoin("people", "people.id", "programme_people.person_id")
		.select(["people.email", MAIL_ZONE.as("zone")])
		.where("programme_people.programme_id", "=", programmeId)
		.where("programme_people.role", "in", roles)
		.where(CAN_SIGN_IN)
		.orderBy("people.email");
	return (kinds === undefined ? all : all.where(wantsOneOf(kinds))).execute();
}

/**
 * Lists the people of a partner who can sign in. If `kinds` is given, people must want at least one of these kinds of
 * mail.
 */
export async function addresseesOfPartner(
	db: Db,
	partnerId: number,
	kinds?: readonly MailKind[],
): Promise<Addressee[]> {
	const all = db
		.selectFrom("partner_people")
		.innerJoin("people", "people.id", "partner_people.person_id")
		.select(["people.email", MAIL_ZONE.as("zone")])
		.where("partner_people.partner_id", "=", partnerId)
		.where(CAN_SIGN_IN)
		.orderBy("people.email");
	return (kinds === undefined ? all : all.where(wantsOneOf(kinds))).execute();
}

function wantsOneOf(kinds: readonly MailKind[]): Expression<SqlBool> {
	return sql<boolean>`(${sql.join(
		kinds.map((kind) => sql`${sql.ref(`people.mails_${kind}`)} = 1`),
		sql` or `,
	)})`;
}

/**
 * Lists the staff who can sign in and want mails about failing callbacks. Returns an empty list if staff were already
 * mailed after `notSinceMs`.
 */
export async function findStaffToTell(db: Db, notSinceMs: number): Promise<Addressee[]> {
	const { rows } =
		await sql<Addressee>`select people.email, ${MAIL_ZONE} as zone from people join network n on true
		where people.kind = 'staff' and people.mails_callbacks_failing = 1 and ${CAN_SIGN_IN}
			and (n.staff_told_at_ms is null or n.staff_told_at_ms <= ${notSinceMs})
		order by people.email`.execute(db);
	return rows;
}
