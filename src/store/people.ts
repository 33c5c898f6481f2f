// The people who sign in: owners of programmes, and the network's staff.

import type { Insertable, Selectable } from "kysely";
import type { PeopleTable } from "./schema.ts";
import type { Db } from "./store.ts";

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
