// The people who sign in: those of shops, and the network's staff.

import { type Insertable, type RawBuilder, type Selectable, sql, type Updateable } from "kysely";
import type { ProgrammeRole } from "../../domain/roles.ts";
import type { Db } from "../store.ts";
import type { PeopleTable } from "../tables/people.ts";

export type Person = Selectable<PeopleTable>;

/** Undefined when the e-mail is taken. */
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

/** A new e-mail: the caller has seen, under the lock of the links, that nobody has it. */
export async function updatePerson(trx: Db, id: number, change: Updateable<PeopleTable>): Promise<void> {
	await trx.updateTable("people").set(change).where("id", "=", id).execute();
}

// People as the pages list them: who can sign in, who still has a link to open, who may no longer.

export interface ListedPerson {
	/** Null for an address that an owner invited: whose it is shows when they accept. */
	id: number | null;
	/** What they are in the programme, or become when they accept; null for staff. */
	role: ProgrammeRole | null;
	publicId: string;
	email: string;
	/** Empty until they have joined. */
	name: string;
	hasPassword: boolean;
	hasAuthenticator: boolean;
	/** The link they were sent is good until then; null when there is none. */
	linkEndsAtMs: number | null;
	/** The link ended with the access of whoever made it, or whom it was for. */
	isLinkWithdrawn: boolean;
	deactivatedAtMs: number | null;
}

/** A programme has a handful of people, a network some dozens of staff: one page holds them all. */
const MAX_PEOPLE_LISTED = 500;

export function listProgrammePeople(db: Db, programmeId: number, nowMs: number): Promise<ListedPerson[]> {
	const isOne = sql`p.id in (select person_id from programme_people where programme_id = ${programmeId})`;
	return listPeople(db, nowMs, programmeId, isOne);
}

/** Who signs in for a partner. */
export function listPartnerPeople(db: Db, partnerId: number, nowMs: number): Promise<ListedPerson[]> {
	const isOne = sql`p.id in (select person_id from partner_people where partner_id = ${partnerId})`;
	return listPeople(db, nowMs, null, isOne);
}

export function listStaff(db: Db, nowMs: number): Promise<ListedPerson[]> {
	return listPeople(db, nowMs, null, sql`p.kind = 'staff'`);
}

/** What they asked for by mail is nobody else's business. */
const OWN_LINKS = sql.raw("('password_mail', 'address_mail')");

async function listPeople(
	db: Db,
	nowMs: number,
	programmeId: number | null,
	isOne: RawBuilder<unknown>,
): Promise<ListedPerson[]> {
	const { rows } = await sql<ListedPerson>`
		select p.id, p.public_id as "publicId", p.email, p.name, p.deactivated_at_ms as "deactivatedAtMs",
			(select role from programme_people r where r.person_id = p.id and r.programme_id = ${programmeId}) as role,
			exists (select 1 from auth_accounts a where a."userId" = p.public_id) as "hasPassword",
			(select u."twoFactorEnabled" from auth_users u where u.id = p.public_id) as "hasAuthenticator",
			(select max(l.expires_at_ms) from links l where l.person_id = p.id and l.purpose not in ${OWN_LINKS}
				and l.withdrawn is null and l.expires_at_ms > ${nowMs}) as "linkEndsAtMs",
			exists (select 1 from links l where l.person_id = p.id and l.withdrawn is not null) as "isLinkWithdrawn"
		from people p where ${isOne} order by p.id limit ${MAX_PEOPLE_LISTED}`.execute(db);
	// On SQLite they are 0 or 1, and an authenticator is null where there was never a password.
	return rows.map(({ hasPassword, hasAuthenticator, isLinkWithdrawn, ...person }) => ({
		...person,
		hasPassword: Boolean(hasPassword),
		hasAuthenticator: Boolean(hasAuthenticator),
		isLinkWithdrawn: Boolean(isLinkWithdrawn),
	}));
}
