// People who sign in: those of shops and partners, and the network's staff.

import { type Insertable, type RawBuilder, type Selectable, sql, type Updateable } from "kysely";
import type { ProgrammeRole } from "../../domain/roles.ts";
import { DEFAULT_ZONE } from "../../domain/zone-day.ts";
import { type Locked, lockRow } from "../locked.ts";
import type { Db } from "../store.ts";
import type { PeopleTable } from "../tables/people.ts";

export type Person = Selectable<PeopleTable>;

/**
 * SQL condition that a person can sign in. News is mailed only to such people, and not to people who have not joined
 * yet, such as those added by an import, or whose access has ended. Sign-in with the company's account also requires
 * that the person has a password.
 */
export const CAN_SIGN_IN = sql<boolean>`(people.deactivated_at_ms is null
	and exists (select 1 from passwords where passwords.person_id = people.id))`;

/** SQL for the time zone of times in mails to a person. It is the network's time zone if the person has chosen none. */
export const MAIL_ZONE = sql<string>`coalesce(people.zone, (select time_zone from network))`;

/** Returns the time zone of times in a mail to this address, which may belong to no account. */
export async function findMailZone(db: Db, email: string): Promise<string> {
	const { rows } = await sql<{
		zone: string;
	}>`select coalesce(people.zone, network.time_zone) as zone from network
		left join people on people.email = ${email}`.execute(db);
	return rows[0]?.zone ?? DEFAULT_ZONE;
}

/** Inserts a person. Returns undefined if the address already has an account. */
export async function insertPerson(db: Db, person: Insertable<PeopleTable>): Promise<Person | undefined> {
	return db
		.insertInto("people")
		.values(person)
		.onConflict((conflict) => conflict.column("email").doNothing())
		.returningAll()
		.executeTakeFirst();
}

export async function findPersonByEmail(db: Db, email: string): Promise<Person | undefined> {
	return db.selectFrom("people").selectAll().where("email", "=", email).executeTakeFirst();
}

export async function findPersonByPublicId(db: Db, publicId: string): Promise<Person | undefined> {
	return db.selectFrom("people").selectAll().where("public_id", "=", publicId).executeTakeFirst();
}

export async function findPersonById(db: Db, id: number): Promise<Person | undefined> {
	return db.selectFrom("people").selectAll().where("id", "=", id).executeTakeFirst();
}

export function lockPerson(
	trx: Db,
	column: "id" | "public_id" | "email",
	value: string | number,
): Promise<Locked<Person> | undefined> {
	return lockRow(trx, trx.selectFrom("people").selectAll().where(column, "=", value));
}

/**
 * Changes a person. Before changing the address, the caller must check under the access lock that nobody else has it.
 */
export async function updatePerson(
	trx: Db,
	{ id }: Locked<Person>,
	change: Updateable<PeopleTable>,
): Promise<void> {
	await trx.updateTable("people").set(change).where("id", "=", id).execute();
}

export interface ListedPerson {
	/** Id of the person, or null for an address that an owner invited, which may or may not have an account. */
	id: number | null;
	/** Role in the programme, or the role that the invitation gives. Null for staff. */
	role: ProgrammeRole | null;
	publicId: string;
	email: string;
	/** Name of the person, which is empty until they have joined. */
	name: string;
	hasPassword: boolean;
	hasAuthenticator: boolean;
	/** Time at which the link that was sent to the person expires, or null if no link was sent. */
	linkEndsAtMs: number | null;
	/** Whether a link to this person was withdrawn, because the access of its creator or of its recipient ended. */
	isLinkWithdrawn: boolean;
	deactivatedAtMs: number | null;
}

/**
 * Maximum number of people on a page. A programme has a handful of people and a network some dozens of staff, so one
 * page lists them all.
 */
const MAX_PEOPLE_LISTED = 500;

export function listProgrammePeople(db: Db, programmeId: number, nowMs: number): Promise<ListedPerson[]> {
	const isListed = sql`p.id in (select person_id from programme_people where programme_id = ${programmeId})`;
	return listPeople(db, nowMs, programmeId, isListed);
}

export function listPartnerPeople(db: Db, partnerId: number, nowMs: number): Promise<ListedPerson[]> {
	const isListed = sql`p.id in (select person_id from partner_people where partner_id = ${partnerId})`;
	return listPeople(db, nowMs, null, isListed);
}

export function listStaff(db: Db, nowMs: number): Promise<ListedPerson[]> {
	return listPeople(db, nowMs, null, sql`p.kind = 'staff' and p.erased_at_ms is null`);
}

/** Purposes of links that people request for themselves by mail. Others do not see these links. */
const PRIVATE_PURPOSES = sql.raw("('password_mail', 'address_mail')");

async function listPeople(
	db: Db,
	nowMs: number,
	programmeId: number | null,
	isListed: RawBuilder<unknown>,
): Promise<ListedPerson[]> {
	const { rows } = await sql<ListedPerson>`
		select p.id, p.public_id as "publicId", p.email, p.name, p.deactivated_at_ms as "deactivatedAtMs",
			(select role from programme_people r where r.person_id = p.id and r.programme_id = ${programmeId}) as role,
			exists (select 1 from passwords w where w.person_id = p.id) as "hasPassword",
			exists (select 1 from authenticators a where a.person_id = p.id and a.turned_on_at_ms is not null)
				as "hasAuthenticator",
			(select max(l.expires_at_ms) from sign_in_links l where l.person_id = p.id
				and l.purpose not in ${PRIVATE_PURPOSES} and l.withdrawn is null and l.expires_at_ms > ${nowMs})
				as "linkEndsAtMs",
			exists (select 1 from sign_in_links l where l.person_id = p.id and l.withdrawn is not null)
				as "isLinkWithdrawn"
		from people p where ${isListed} order by p.id limit ${MAX_PEOPLE_LISTED}`.execute(db);
	// SQLite returns 0 or 1 for truth values.
	return rows.map(({ hasPassword, hasAuthenticator, isLinkWithdrawn, ...person }) => ({
		...person,
		hasPassword: Boolean(hasPassword),
		hasAuthenticator: Boolean(hasAuthenticator),
		isLinkWithdrawn: Boolean(isLinkWithdrawn),
	}));
}
