// The people who sign in: those of shops, and the network's staff.

import type { Insertable, Selectable } from "kysely";
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
