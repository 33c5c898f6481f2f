// The people who sign in: those of shops, and the network's staff.

import type { Insertable, Selectable } from "kysely";
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

/** What people change about themselves. */
export type PersonSettings = Pick<
	Person,
	"name" | "zone" | "locale" | "mails_callbacks_failing" | "mails_callbacks_working_again"
>;

export async function updateSettings(db: Db, id: number, settings: PersonSettings): Promise<void> {
	await db.updateTable("people").set(settings).where("id", "=", id).execute();
}

/** The caller has seen, under the lock of the links, that nobody has it. */
export async function setEmail(trx: Db, id: number, email: string): Promise<void> {
	await trx.updateTable("people").set({ email }).where("id", "=", id).execute();
}

export async function renamePerson(db: Db, id: number, name: string): Promise<void> {
	await db.updateTable("people").set({ name }).where("id", "=", id).execute();
}

/** Null: may sign in (again). */
export async function setDeactivated(db: Db, id: number, atMs: number | null): Promise<void> {
	await db.updateTable("people").set({ deactivated_at_ms: atMs }).where("id", "=", id).execute();
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

export async function listProgrammePeople(
	db: Db,
	programmeId: number,
	nowMs: number,
): Promise<ListedPerson[]> {
	return listPeople(db, nowMs, programmeId, (people) =>
		people.where("people.id", "in", (eb) =>
			eb
				.selectFrom("programme_people")
				.select("programme_people.person_id")
				.where("programme_people.programme_id", "=", programmeId),
		),
	);
}

export async function listStaff(db: Db, nowMs: number): Promise<ListedPerson[]> {
	return listPeople(db, nowMs, null, (people) => people.where("people.kind", "=", "staff"));
}

type PeopleQuery = ReturnType<typeof peopleQuery>;

function peopleQuery(db: Db) {
	return db.selectFrom("people");
}

async function listPeople(
	db: Db,
	nowMs: number,
	programmeId: number | null,
	choose: (people: PeopleQuery) => PeopleQuery,
): Promise<ListedPerson[]> {
	const rows = await choose(peopleQuery(db))
		.select((eb) => [
			"people.id",
			"people.public_id as publicId",
			"people.email",
			"people.name",
			"people.deactivated_at_ms as deactivatedAtMs",
			eb
				.selectFrom("programme_people")
				.select("programme_people.role")
				.whereRef("programme_people.person_id", "=", "people.id")
				.where("programme_people.programme_id", "=", programmeId)
				.as("role"),
			eb
				.selectFrom("auth_accounts")
				.select("auth_accounts.id")
				.whereRef("auth_accounts.userId", "=", "people.public_id")
				.limit(1)
				.as("accountId"),
			eb
				.selectFrom("auth_users")
				.select("auth_users.twoFactorEnabled")
				.whereRef("auth_users.id", "=", "people.public_id")
				.as("isTwoFactorOn"),
			eb
				.selectFrom("links")
				.select((link) => link.fn.max("links.expires_at_ms").as("ends"))
				.whereRef("links.person_id", "=", "people.id")
				// What they asked for by mail is nobody else's business.
				.where("links.purpose", "not in", ["password_mail", "address_mail"])
				.where("links.withdrawn", "is", null)
				.where("links.expires_at_ms", ">", nowMs)
				.as("linkEndsAtMs"),
			eb
				.selectFrom("links")
				.select((link) => link.fn.countAll<number>().as("count"))
				.whereRef("links.person_id", "=", "people.id")
				.where("links.withdrawn", "is not", null)
				.as("withdrawnCount"),
		])
		.orderBy("people.id")
		.limit(MAX_PEOPLE_LISTED)
		.execute();
	return rows.map(({ accountId, isTwoFactorOn, withdrawnCount, ...person }) => ({
		...person,
		hasPassword: accountId !== null,
		// 1 on SQLite, true on PostgreSQL.
		hasAuthenticator: Boolean(isTwoFactorOn),
		isLinkWithdrawn: Number(withdrawnCount ?? 0) > 0,
	}));
}
